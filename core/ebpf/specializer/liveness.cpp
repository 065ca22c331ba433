// SPDX-License-Identifier: Apache-2.0
#include "ebpf/specializer/liveness.hpp"

#include "ebpf/helpers/helpers.hpp"

namespace egpu::ebpf::specializer {
namespace {

using Kind = Value::Kind;

class UseBuilder {
public:
    UseBuilder(const SpecializedProgram& program, std::uint32_t at)
        : program_(program),
          instruction_(program.instructions[at]),
          facts_(program.facts[at]),
          at_(at),
          depth_(program.depths[at]) {}

    RunTimeUse build() {
        switch (class_of(instruction_)) {
            case kClassLd:
                writes(instruction_.destination);
                break;
            case kClassLdx:
                load();
                break;
            case kClassSt:
            case kClassStx:
                store();
                break;
            case kClassAlu:
            case kClassAlu64:
                alu();
                break;
            default:
                if (instruction_.opcode == kCall)
                    call();
                else if (is_conditional_jump(instruction_))
                    operands();
                break;
        }
        return std::move(use_);
    }

private:
    void reads(std::uint8_t reg, const Value& value) {
        if (const auto variable = variable_of(reg, depth_); variable && !value.is_known())
            use_.reads.set(*variable);
    }
    void writes(std::uint8_t reg) {
        if (const auto variable = variable_of(reg, depth_))
            use_.writes.set(*variable);
    }
    void operands() {
        reads(instruction_.destination, facts_.destination_before);
        if (uses_register(instruction_))
            reads(instruction_.source, facts_.source_before);
    }
    void stack(const Value& base, std::int64_t offset, std::uint32_t bytes, bool is_read, bool is_write) {
        use_.stack.push_back({base.map, base.offset + offset, bytes, !base.offset_known, is_read, is_write});
    }

    void load() {
        writes(instruction_.destination);
        if (facts_.destination_after.is_known())
            return;
        reads(instruction_.source, facts_.source_before);
        if (facts_.source_before.kind == Kind::stack)
            stack(facts_.source_before, instruction_.offset, access_bytes(instruction_), true, false);
    }

    void store() {
        const bool is_atomic = class_of(instruction_) == kClassStx && mode_of(instruction_) == kModeAtomic;
        reads(instruction_.destination, facts_.destination_before);
        if (class_of(instruction_) == kClassStx)
            reads(instruction_.source, facts_.source_before);
        if (facts_.destination_before.kind == Kind::stack)
            stack(facts_.destination_before, instruction_.offset, access_bytes(instruction_), is_atomic, true);
        else
            use_.has_effect = true;
        if (!is_atomic)
            return;
        if (instruction_.immediate == kCompareExchange) {
            reads(0, facts_.arguments.at(0));
            writes(0);
        } else if ((instruction_.immediate & kFetch) != 0) {
            writes(instruction_.source);
        }
    }

    void alu() {
        writes(instruction_.destination);
        if (facts_.destination_after.is_known())
            return;
        const auto operation = operation_of(instruction_);
        if (operation != kMov)
            reads(instruction_.destination, facts_.destination_before);
        if (uses_register(instruction_) && operation != kEnd && operation != kNeg)
            reads(instruction_.source, facts_.source_before);
    }

    void call() {
        writes(0);
        switch (static_cast<HelperId>(instruction_.immediate)) {
            case HelperId::map_lookup_elem:
            case HelperId::map_lookup_or_init:
                if (!facts_.destination_after.is_known())
                    key();
                // The entry that it makes is there for others.
                use_.has_effect = static_cast<HelperId>(instruction_.immediate) == HelperId::map_lookup_or_init &&
                                  map().keys_at_run_time;
                break;
            case HelperId::map_update_elem:
                update();
                break;
            case HelperId::value:
                // A known negative result: the event has no value, nothing is written.
                if (!facts_.result || *facts_.result == 0)
                    stack(facts_.arguments[1], 0, static_cast<std::uint32_t>(facts_.arguments[2].constant), false,
                          true);
                break;
            case HelperId::bpftime_barrier:
                use_.has_effect = true;
                break;
            case HelperId::ringbuf_output:
                sends(1, 2);
                break;
            case HelperId::trace_printk:
                use_.has_effect = true;
                for (std::uint8_t reg = 3; reg < 3 + numbers_printed(program_, at_); ++reg)
                    reads(reg, facts_.arguments[reg - 1u]);
                break;
            case HelperId::trace_vprintk:
                sends(2, 3);
                break;
            case HelperId::min:
            case HelperId::max:
                use_.has_effect = true;
                reads(1, facts_.arguments[0]);
                reads(2, facts_.arguments[1]);
                break;
            case HelperId::lanes_sum:
            case HelperId::lanes_min:
            case HelperId::lanes_max:
                if (!facts_.destination_after.is_known())
                    reads(1, facts_.arguments[0]);
                break;
            case HelperId::argument:
            case HelperId::clock:
            case HelperId::time_ns:
            case HelperId::ktime_get_ns:
            case HelperId::ktime_get_coarse_ns:
            case HelperId::get_prandom_u32:
            case HelperId::get_smp_processor_id:
                break;
            case HelperId::bpftime_timer:
            case HelperId::bpftime_block_index:
            case HelperId::bpftime_block_size:
            case HelperId::bpftime_thread_index:
            case HelperId::bpftime_grid_size:
            case HelperId::bpftime_sm:
            case HelperId::bpftime_warp_slot:
            case HelperId::bpftime_lane:
                fields(bpftime_fields(static_cast<HelperId>(instruction_.immediate)));
                break;
        }
    }

    /// Bytes that leave the GPU: so many as a constant argument says.
    void sends(std::size_t from, std::size_t size) {
        use_.has_effect = true;
        if (facts_.arguments[from].kind == Kind::stack)
            stack(facts_.arguments[from], 0, static_cast<std::uint32_t>(facts_.arguments[size].constant), true, false);
    }

    /// Several go to variables, one is the result.
    void fields(std::span<const std::string_view> names) {
        for (std::size_t index = 0; names.size() > 1 && index < names.size(); ++index)
            stack(facts_.arguments[index], 0, 8, false, true);
    }

    const MapDefinition& map() const { return program_.object->maps[facts_.arguments[0].map]; }

    /// A key, or an array's index, that is read at run time.
    void key() {
        if (facts_.arguments[1].kind == Kind::stack)
            stack(facts_.arguments[1], 0, map().key_bytes, true, false);
    }

    void update() {
        if (facts_.result && *facts_.result != 0)
            return;
        use_.has_effect = true;
        if (!facts_.memory)
            key();
        if (facts_.arguments[2].kind == Kind::stack)
            stack(facts_.arguments[2], 0, map().value_bytes, true, false);
    }

    const SpecializedProgram& program_;
    const Instruction& instruction_;
    const InstructionFacts& facts_;
    std::uint32_t at_;
    std::uint32_t depth_;
    RunTimeUse use_;
};

/// Bounds on the work for programs made to be hard; real ones take two rounds of a few steps.
constexpr int kMostRounds = 32;
constexpr std::size_t kStepsPerInstruction = 200;

/// Bytes of all frames, from the bottom of frame 0.
constexpr std::size_t kStackBits = kMaxFrames * kFrameBytes;
struct Live {
    std::bitset<kVariables> variables;
    std::bitset<kStackBits> stack;
    bool operator==(const Live&) const = default;
    void add(const Live& other) {
        variables |= other.variables;
        stack |= other.stack;
    }
};

class Liveness {
public:
    explicit Liveness(SpecializedProgram& program) : program_(program), size_(program.instructions.size()) {
        for (std::uint32_t at = 0; at < size_; ++at)
            uses_.push_back(program.facts[at].reachable ? run_time_use(program, at) : RunTimeUse{});
    }

    /// Backwards until nothing changes; then drops jumps that decide nothing, and starts again. False where a bound on
    /// the work was reached.
    bool run() {
        dropped_.assign(size_, false);
        find_predecessors();
        for (int round = 0;; ++round) {
            if (!solve())
                return false;
            find_onward();
            // A jump that could still be dropped costs an instruction, nothing more.
            if (round == kMostRounds || !drop_jumps())
                return true;
        }
    }

private:
    template <typename Visit>
    void for_each_byte(const StackUse& use, Visit visit) const {
        const std::int64_t frame = std::int64_t{use.depth} * kFrameBytes;
        const std::int64_t begin = use.whole_frame ? 0 : kFrameBytes + use.offset;
        const std::int64_t end = use.whole_frame ? kFrameBytes : begin + use.bytes;
        for (std::int64_t byte = begin; byte < end; ++byte)
            visit(static_cast<std::size_t>(frame + byte));
    }

    Live live_out(std::uint32_t at) const {
        Live out;
        const Instruction& i = program_.instructions[at];
        const auto& facts = program_.facts[at];
        const bool jumps = is_goto(i) || (is_conditional_jump(i) && facts.branch != false);
        const bool falls = i.opcode != kExit && !is_goto(i) && !(is_conditional_jump(i) && facts.branch == true);
        if (jumps)
            out.add(live_[target(at)]);
        if (falls && following(at) < size_)
            out.add(live_[following(at)]);
        return out;
    }

    bool is_needed(std::uint32_t at, const Live& out) const {
        const RunTimeUse& use = uses_[at];
        const Instruction& i = program_.instructions[at];
        if (is_conditional_jump(i))
            return !program_.facts[at].branch && !dropped_[at];
        if (use.has_effect || (use.writes & out.variables).any())
            return true;
        bool needed = false;
        for (const auto& stack : use.stack)
            if (stack.writes)
                for_each_byte(stack, [&](std::size_t byte) { needed = needed || out.stack[byte]; });
        return needed;
    }

    Live live_in(std::uint32_t at, Live live) const {
        const RunTimeUse& use = uses_[at];
        live.variables &= ~use.writes;
        live.variables |= use.reads;
        for (const auto& stack : use.stack)
            if (stack.writes && !stack.reads && !stack.whole_frame)
                for_each_byte(stack, [&](std::size_t byte) { live.stack.reset(byte); });
        for (const auto& stack : use.stack)
            if (stack.reads)
                for_each_byte(stack, [&](std::size_t byte) { live.stack.set(byte); });
        return live;
    }

    bool solve() {
        live_.assign(size_, {});
        std::vector<std::uint32_t> waiting;
        std::vector<bool> is_waiting(size_, true);
        for (std::uint32_t at = 0; at < size_; ++at)
            waiting.push_back(at);
        const std::size_t limit = kStepsPerInstruction * size_;
        for (std::size_t steps = 0; !waiting.empty(); ++steps) {
            if (steps > limit)
                return false;
            const std::uint32_t at = waiting.back();
            waiting.pop_back();
            is_waiting[at] = false;
            if (!program_.facts[at].reachable || !update(at))
                continue;
            for (const std::uint32_t before : predecessors_[at])
                if (!is_waiting[before]) {
                    is_waiting[before] = true;
                    waiting.push_back(before);
                }
        }
        return true;
    }

    /// True where more became live before the instruction.
    bool update(std::uint32_t at) {
        auto& facts = program_.facts[at];
        Live out = live_out(at);
        facts.needed = is_needed(at, out);
        facts.result_needed = (uses_[at].writes & out.variables).any();
        Live in = facts.needed ? live_in(at, std::move(out)) : std::move(out);
        if (in == live_[at])
            return false;
        live_[at] = std::move(in);
        return true;
    }

    void find_predecessors() {
        predecessors_.assign(size_, {});
        for (std::uint32_t at = 0; at < size_; ++at) {
            const Instruction& i = program_.instructions[at];
            if (!program_.facts[at].reachable || i.opcode == kExit)
                continue;
            if (is_goto(i) || is_conditional_jump(i))
                predecessors_[target(at)].push_back(at);
            if (!is_goto(i) && following(at) < size_)
                predecessors_[following(at)].push_back(at);
        }
    }

    std::uint32_t following(std::uint32_t at) const {
        return at + (program_.instructions[at].opcode == kLoadImmediate64 ? 2 : 1);
    }
    std::uint32_t target(std::uint32_t at) const {
        return static_cast<std::uint32_t>(std::int64_t{at} + 1 + jump_distance(program_.instructions[at]));
    }

    /// Where control goes from an instruction that is not needed.
    std::uint32_t step(std::uint32_t at) const {
        const Instruction& i = program_.instructions[at];
        if (i.opcode == kExit || !program_.facts[at].reachable)
            return SpecializedProgram::kEnd;
        if (is_goto(i) || (is_conditional_jump(i) && program_.facts[at].branch == true))
            return target(at);
        return following(at) < size_ ? following(at) : SpecializedProgram::kEnd;
    }

    /// Fills SpecializedProgram::onward. A ring of instructions that do nothing counts as the end: a verified program
    /// has none that is ever entered.
    void find_onward() {
        constexpr std::uint32_t kUnset = SpecializedProgram::kEnd - 1;
        auto& onward = program_.onward;
        onward.assign(size_, kUnset);
        std::vector<std::uint32_t> path;
        for (std::uint32_t start = 0; start < size_; ++start) {
            path.clear();
            std::uint32_t at = start;
            std::uint32_t found = SpecializedProgram::kEnd;
            while (at != SpecializedProgram::kEnd) {
                if (onward[at] != kUnset) {
                    found = onward[at];
                    break;
                }
                path.push_back(at);
                onward[at] = SpecializedProgram::kEnd;
                if (program_.facts[at].needed) {
                    found = at;
                    break;
                }
                at = step(at);
            }
            for (const std::uint32_t passed : path)
                onward[passed] = found;
        }
    }

    bool drop_jumps() {
        bool dropped = false;
        for (std::uint32_t at = 0; at < size_; ++at) {
            const bool candidate = program_.facts[at].needed && is_conditional_jump(program_.instructions[at]);
            if (candidate && program_.taken_needed(at) == program_.next_needed(at)) {
                dropped_[at] = true;
                dropped = true;
            }
        }
        return dropped;
    }

    SpecializedProgram& program_;
    std::size_t size_;
    std::vector<RunTimeUse> uses_;
    std::vector<Live> live_;
    std::vector<std::vector<std::uint32_t>> predecessors_;
    std::vector<bool> dropped_;
};

}  // namespace

RunTimeUse run_time_use(const SpecializedProgram& program, std::uint32_t at) {
    return UseBuilder(program, at).build();
}

bool mark_needed(SpecializedProgram& program) {
    return Liveness(program).run();
}

}  // namespace egpu::ebpf::specializer
