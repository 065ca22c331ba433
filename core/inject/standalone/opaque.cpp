// SPDX-License-Identifier: Apache-2.0
//   before:   r1 = 7                   after:   r1 = *(u64 *)(r10 - 512)
//                                               r1 += 7
//   at the start of each function, with r1 to r5 kept:
//                                               call bpf_get_smp_processor_id
//                                               r0 >>= 32                    always 0, which nobody knows
//                                               *(u64 *)(r10 - 512) = r0
#include "inject/standalone/opaque.hpp"

#include <functional>

#include "ebpf/helpers/helpers.hpp"

namespace egpu::inject {

using namespace ebpf;

namespace {

constexpr std::int16_t kZero = -512, kSpare = -504;

Instruction make(unsigned opcode, std::uint8_t destination, std::uint8_t source, std::int16_t offset,
                 std::int32_t immediate) {
    Instruction i;
    i.opcode = static_cast<std::uint8_t>(opcode);
    i.destination = destination & 15;
    i.source = source & 15;
    i.offset = offset;
    i.immediate = immediate;
    return i;
}

Instruction move(std::uint8_t to, std::uint8_t from) {
    return make(kClassAlu64 | kMov | kSourceRegister, to, from, 0, 0);
}
Instruction add(std::uint8_t to, std::int32_t number) {
    return make(kClassAlu64 | unsigned{kAdd}, to, 0, 0, number);
}
Instruction load(std::uint8_t to, std::int16_t from) {
    return make(kClassLdx | kModeMem | 0x18u, to, kFramePointer, from, 0);
}
Instruction store(std::int16_t to, std::uint8_t from) {
    return make(kClassStx | kModeMem | 0x18u, kFramePointer, from, to, 0);
}

bool is_local_call(const Instruction& i) {
    return i.opcode == kCall && i.source == kPseudoCall;
}

/// Where a jump or a local call goes.
std::size_t target_of(std::size_t at, const Instruction& i) {
    return static_cast<std::size_t>(static_cast<std::int64_t>(at) + 1 +
                                    (is_local_call(i) ? i.immediate : jump_distance(i)));
}

using Replace = std::function<std::vector<Instruction>(std::size_t at, bool starts_function)>;

/// Puts others in the place of instructions and moves jumps and calls along. What stands for a jump ends in it.
class Rewriter {
public:
    explicit Rewriter(const std::vector<Instruction>& program) : program_(program) {}

    std::vector<Instruction> run(const Replace& replace) {
        const auto starts = function_starts();
        for (std::size_t at = 0; at < program_.size(); ++at) {
            place_.push_back(out_.size());
            if (!is_second_half(at))
                for (const auto& i : replace(at, starts[at]))
                    out_.push_back(i);
            last_.push_back(out_.size() - 1);
        }
        for (std::size_t at = 0; at < program_.size(); ++at)
            if (!is_second_half(at))
                move_target(at);
        return std::move(out_);
    }

private:
    bool is_second_half(std::size_t at) const { return at > 0 && program_[at - 1].opcode == kLoadImmediate64; }

    std::vector<bool> function_starts() const {
        std::vector<bool> starts(program_.size());
        starts[0] = true;
        for (std::size_t at = 0; at < program_.size(); ++at)
            if (!is_second_half(at) && is_local_call(program_[at]))
                starts[target_of(at, program_[at])] = true;
        return starts;
    }

    void move_target(std::size_t at) {
        const Instruction& i = program_[at];
        if (!is_local_call(i) && !is_goto(i) && !is_conditional_jump(i))
            return;
        const auto distance =
            static_cast<std::int64_t>(place_[target_of(at, i)]) - static_cast<std::int64_t>(last_[at]) - 1;
        Instruction& moved = out_[last_[at]];
        if (is_local_call(i) || (is_goto(i) && class_of(i) == kClassJmp32))
            moved.immediate = static_cast<std::int32_t>(distance);
        else
            moved.offset = static_cast<std::int16_t>(distance);
    }

    const std::vector<Instruction>& program_;
    std::vector<Instruction> out_;
    std::vector<std::size_t> place_, last_;  ///< in out_: first and last of what stands for an instruction
};

/// The zero, with the arguments r1 to r5 as they were: r1 to r4 live through the call in r6 to r9, which are a
/// function's own, r5 on the stack. The number of an SM is less than 2^32.
std::vector<Instruction> function_start() {
    std::vector<Instruction> out;
    for (std::uint8_t reg = 1; reg <= 4; ++reg)
        out.push_back(move(reg + 5, reg));
    out.push_back(store(kSpare, 5));
    out.push_back(make(kCall, 0, 0, 0, static_cast<std::int32_t>(HelperId::get_smp_processor_id)));
    out.push_back(make(kClassAlu64 | kRsh, 0, 0, 0, 32));
    out.push_back(store(kZero, 0));
    for (std::uint8_t reg = 1; reg <= 4; ++reg)
        out.push_back(move(reg, reg + 5));
    out.push_back(load(5, kSpare));
    return out;
}

/// high:low as 0 + high << 32 + low, in steps that fit into an immediate's 31 bits.
void add_wide(std::vector<Instruction>& out, std::uint8_t to, std::int32_t high, std::uint32_t low) {
    out.push_back(add(to, high));
    out.push_back(make(kClassAlu64 | kLsh, to, 0, 0, 32));
    out.push_back(add(to, static_cast<std::int32_t>(low >> 1)));
    out.push_back(add(to, static_cast<std::int32_t>(low >> 1)));
    out.push_back(add(to, static_cast<std::int32_t>(low & 1)));
}

}  // namespace

std::vector<Instruction> with_hidden_constants(const std::vector<Instruction>& program) {
    return Rewriter(program).run([&](std::size_t at, bool starts_function) {
        std::vector<Instruction> out;
        if (starts_function)
            out = function_start();
        const Instruction& i = program[at];
        if (is_alu(i) && operation_of(i) == kMov && !uses_register(i)) {
            out.push_back(load(i.destination, kZero));
            out.push_back(make(class_of(i) | unsigned{kAdd}, i.destination, 0, 0, i.immediate));
        } else if (i.opcode == kLoadImmediate64 && i.source == 0) {
            out.push_back(load(i.destination, kZero));
            add_wide(out, i.destination, program[at + 1].immediate, static_cast<std::uint32_t>(i.immediate));
        } else {
            out.push_back(i);
            if (i.opcode == kLoadImmediate64)
                out.push_back(program[at + 1]);
        }
        return out;
    });
}

}  // namespace egpu::inject
