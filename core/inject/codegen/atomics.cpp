// SPDX-License-Identifier: Apache-2.0
// Atomic operations (RFC 9669 5.3; PTX ISA 9.7.13.13 atom, 9.7.13.14 red), by target.
//
//   lock *(u64 *)(r0 + 0) += r1
//       an accumulator holds it:        add.s64 %egpu_acc0, %egpu_acc0, 4;
//       sm_70:                          red.relaxed.gpu.global.add.u64 [%egpu_d0], %egpu_r1;
//       sm_60:                          red.global.add.u64 [%egpu_d0], %egpu_r1;
//   r1 = atomic_fetch_add(r0 + 0, r1)   atom.relaxed.gpu.global.add.u64 %egpu_r1, [%egpu_d0], %egpu_r1;
// Lanes that add the same number to one address are left to ptxas, which lets one of them add for all: a leader of our
// own was 5 to 10 % slower (H200, driver 580: vector addition 489 and 515 us, matrix product 20.3 and 22.5 ms).
// All are relaxed: programs never wait for each other, so no order between two words is promised.
#include <limits>

#include "inject/codegen/emitter.hpp"

namespace egpu::inject {

using namespace ebpf;

namespace {

/// "add.u64", "or.b32": an operation without fetch or with it.
std::string operation_name(std::int32_t operation, std::uint32_t bytes) {
    const auto bits = bytes * 8;
    switch (operation & ~kFetch) {
        case kAdd:
            return fmt::format("add.u{}", bits);
        case kOr:
            return fmt::format("or.b{}", bits);
        case kAnd:
            return fmt::format("and.b{}", bits);
        default:
            return fmt::format("xor.b{}", bits);
    }
}

const char* plain_name(std::int32_t operation) {
    switch (operation & ~kFetch) {
        case kAdd:
            return "add.s64";
        case kOr:
            return "or.b64";
        case kAnd:
            return "and.b64";
        default:
            return "xor.b64";
    }
}

}  // namespace

bool Emitter::add_to_accumulator(std::uint32_t at, const std::string& operand) {
    const Instruction& i = program_.instructions[at];
    const auto& memory = program_.facts[at].memory;
    if (i.immediate != kAdd || access_bytes(i) != 8 || !memory)
        return false;
    StaticElement element = *memory;
    element.map += map_base_;
    for (const auto& accumulator : function_.accumulators) {
        if (!accumulator.is_sum_of(element))
            continue;
        const Value& amount = program_.facts[at].source_before;
        const bool is_small = amount.is_constant() && amount.constant <= std::numeric_limits<std::uint32_t>::max();
        if (is_small && !predicate_.empty()) {
            const EmittedProbe add = emit_register_add(predicate_, accumulator.register_name,
                                                       static_cast<std::uint32_t>(amount.constant), false);
            body_.append(add.text, add.instructions);
        } else {
            effect(fmt::format("add.s64 {}, {}, {}", accumulator.register_name, accumulator.register_name, operand));
        }
        return true;
    }
    return false;
}

void Emitter::atomic(std::uint32_t at) {
    const Instruction& i = program_.instructions[at];
    const InstructionFacts& facts = program_.facts[at];
    const std::uint32_t bytes = access_bytes(i);
    const bool on_stack = facts.destination_before.kind == Value::Kind::stack;
    const bool narrow = bytes == 4 && !on_stack;
    const std::string operand = on_stack ? in_register(at, i.source, facts.source_before)
                                : narrow ? operand32(at, i.source, facts.source_before)
                                         : operand64(at, i.source, facts.source_before);
    if (add_to_accumulator(at, operand))
        return;
    const Place place = place_of(at, facts.destination_before, i.destination, i.offset, bytes);
    if (on_stack) {
        atomic_on_stack(i, at, place, operand);
        return;
    }
    const char* scope = has_scoped_atomics() ? ".relaxed.gpu.global" : ".global";
    if (has_scoped_atomics())
        require_version(6, 0);
    const bool exchanges = i.immediate == kExchange || i.immediate == kCompareExchange;
    if (!exchanges && (i.immediate & kFetch) == 0) {
        effect(fmt::format("red{}.{} [{}], {}", scope, operation_name(i.immediate, bytes), place.address, operand));
        return;
    }
    const std::uint8_t result = i.immediate == kCompareExchange ? 0 : i.source;
    const std::string to = reg(result, program_.depths[at]);
    const std::string old = narrow ? registers_.b32() : to;
    if (i.immediate == kCompareExchange) {
        const Value& expected = facts.arguments[0];
        const std::string compare = narrow ? operand32(at, 0, expected) : operand64(at, 0, expected);
        effect(fmt::format("atom{}.cas.b{} {}, [{}], {}, {}", scope, bytes * 8, old, place.address, compare, operand));
    } else if (i.immediate == kExchange) {
        effect(fmt::format("atom{}.exch.b{} {}, [{}], {}", scope, bytes * 8, old, place.address, operand));
    } else {
        effect(fmt::format("atom{}.{} {}, [{}], {}", scope, operation_name(i.immediate, bytes), old, place.address,
                           operand));
    }
    if (narrow)
        emit(fmt::format("cvt.u64.u32 {}, {}", to, old));
}

/// The stack belongs to one thread: plain arithmetic.
void Emitter::atomic_on_stack(const Instruction& i, std::uint32_t at, const Place& place, const std::string& operand) {
    const std::uint32_t bytes = access_bytes(i);
    const std::string old = registers_.b64();
    read(at, place, bytes, false, old);
    std::string stored = operand;
    if (i.immediate == kCompareExchange) {
        const std::string expected = registers_.b64();
        const std::string equal = registers_.predicate();
        emit(fmt::format("mov.b64 {}, {}", expected, in_register(at, 0, program_.facts[at].arguments[0])));
        if (bytes == 4)
            emit(fmt::format("and.b64 {}, {}, 0xffffffff", expected, expected));
        emit(fmt::format("setp.eq.s64 {}, {}, {}", equal, old, expected));
        stored = registers_.b64();
        emit(fmt::format("selp.b64 {}, {}, {}, {}", stored, operand, old, equal));
    } else if (i.immediate != kExchange) {
        stored = registers_.b64();
        emit(fmt::format("{} {}, {}, {}", plain_name(i.immediate), stored, old, operand));
    }
    write(at, place, bytes, stored);
    if (i.immediate == kCompareExchange)
        emit(fmt::format("mov.b64 {}, {}", reg(0, program_.depths[at]), old));
    else if ((i.immediate & kFetch) != 0)
        emit(fmt::format("mov.b64 {}, {}", reg(i.source, program_.depths[at]), old));
}

}  // namespace egpu::inject
