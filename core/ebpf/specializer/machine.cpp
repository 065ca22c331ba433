// SPDX-License-Identifier: Apache-2.0
// Arithmetic, jumps and the order of a step; memory and helpers are in machine_memory.cpp and machine_calls.cpp.
#include "ebpf/specializer/machine.hpp"
#include "ebpf/isa/semantics.hpp"

#include <fmt/format.h>

#include "ebpf/specializer/problem.hpp"
#include "ebpf/specializer/sources.hpp"

namespace egpu::ebpf::specializer {

std::uint32_t KeyNumbers::number_of(std::uint32_t map, std::vector<std::uint8_t> bytes) {
    const auto [place, is_new] =
        numbers_.try_emplace({map, std::move(bytes)}, static_cast<std::uint32_t>(keys_.size()));
    if (is_new)
        keys_.push_back(place->first);
    return place->second;
}

void Machine::refuse(std::uint32_t at, std::string_view code, std::string message, std::string why, std::string fix) {
    if (problems_ != nullptr)
        problems_->push_back(
            problem_at(program_, code_.origin[at], code, std::move(message), std::move(why), std::move(fix)));
}

State Machine::start() const {
    State state;
    state.set_reg(1, 0, Value::context_at(0));
    return state;
}

/// The second operand: a register or the immediate, sign-extended (RFC 9669 4.1).
Value Machine::operand(std::uint32_t at, const State& state) const {
    const Instruction& i = code_.instructions[at];
    if (uses_register(i))
        return state.reg(i.source, code_.depth[at]);
    return Value::of(static_cast<std::uint64_t>(static_cast<std::int64_t>(i.immediate)));
}

namespace {

bool writes_frame_pointer(const Instruction& i) {
    const bool fetches = class_of(i) == kClassStx && mode_of(i) == kModeAtomic && (i.immediate & kFetch) != 0 &&
                         i.immediate != kCompareExchange;
    if (fetches)
        return i.source == kFramePointer;
    return i.destination == kFramePointer && (is_alu(i) || class_of(i) == kClassLd || class_of(i) == kClassLdx);
}

}  // namespace

Flow Machine::step(std::uint32_t at, State& state, InstructionFacts* facts, std::vector<Diagnostic>* problems) {
    problems_ = problems;
    const Instruction& i = code_.instructions[at];
    const std::uint8_t depth = code_.depth[at];
    if (facts != nullptr) {
        facts->reachable = true;
        facts->destination_before = state.reg(i.destination, depth);
        facts->source_before = state.reg(i.source, depth);
    }
    if (writes_frame_pointer(i))
        refuse(at, "EGPU-V056", "r10 is written to", "r10 is the frame's address and never changes",
               "use another register");
    Flow flow;
    switch (class_of(i)) {
        case kClassLd:
            state.set_reg(i.destination, depth, load_immediate(at));
            break;
        case kClassLdx:
            load(at, state, facts);
            break;
        case kClassSt:
        case kClassStx:
            store(at, state, facts);
            break;
        case kClassAlu:
        case kClassAlu64:
            alu(at, state, facts);
            break;
        default:
            flow = jump(at, state, facts);
            if (i.opcode == kCall)
                call(at, state, facts);
            break;
    }
    if (facts != nullptr)
        facts->destination_after = state.reg(i.opcode == kCall ? 0 : i.destination, depth);
    return flow;
}

namespace {

/// Pointer arithmetic keeps what is known of the pointer; nothing: no pointer arithmetic.
std::optional<Value> moved_pointer(const Instruction& i, const Value& a, const Value& b) {
    if (class_of(i) != kClassAlu64)
        return std::nullopt;
    const bool adds = operation_of(i) == kAdd;
    if (!adds && operation_of(i) != kSub)
        return std::nullopt;
    if (a.is_pointer() && b.is_constant())
        return moved(a, static_cast<std::int64_t>(adds ? b.constant : 0 - b.constant));
    if (a.is_pointer() && b.kind == Value::Kind::unknown)
        return moved_by_unknown(a, b.sources);
    if (adds && a.is_constant() && b.is_pointer())
        return moved(b, static_cast<std::int64_t>(a.constant));
    if (adds && a.kind == Value::Kind::unknown && b.is_pointer())
        return moved_by_unknown(b, a.sources);
    return std::nullopt;
}

/// Numbers that are known whatever the other operand is: x & 0, x * 0, x ^ x, x - x.
std::optional<Value> absorbed(const Instruction& i, const Value& a, const Value& b) {
    const bool product = operation_of(i) == kAnd || operation_of(i) == kMul;
    if (product && (a.is_constant(0) || b.is_constant(0)))
        return Value::of(0);
    const bool same = uses_register(i) && i.source == i.destination;
    if (same && (operation_of(i) == kXor || operation_of(i) == kSub))
        return Value::of(0);
    return std::nullopt;
}

}  // namespace

void Machine::alu(std::uint32_t at, State& state, InstructionFacts*) {
    const Instruction& i = code_.instructions[at];
    const std::uint8_t depth = code_.depth[at];
    const Value a = state.reg(i.destination, depth);
    const Value b = operation_of(i) == kEnd || operation_of(i) == kNeg ? Value::of(0) : operand(at, state);
    const bool moves = operation_of(i) == kMov;
    Value result = Value::unknown((moves ? 0 : a.sources) | b.sources);
    if (moves && class_of(i) == kClassAlu64 && i.offset == 0)
        result = b;
    else if (b.is_constant() && (moves || a.is_constant()))
        result = Value::of(arithmetic_result(i, a.constant, b.constant));
    else if (const auto pointer = moved_pointer(i, a, b))
        result = *pointer;
    else if (const auto number = moves ? std::nullopt : absorbed(i, a, b))
        result = *number;
    state.set_reg(i.destination, depth, result);
}

namespace {

/// A comparison with NULL of a pointer that is never NULL, or of two addresses in one value.
std::optional<bool> decide_pointers(const Instruction& i, const Value& a, const Value& b) {
    const bool equality = operation_of(i) == kJeq || operation_of(i) == kJne;
    if (class_of(i) != kClassJmp || !equality)
        return std::nullopt;
    const bool one_is_null = (a.is_never_null() && b.is_constant(0)) || (b.is_never_null() && a.is_constant(0));
    if (one_is_null)
        return operation_of(i) == kJne;
    const bool both_known = a.is_known() && b.is_known() && a.is_pointer() && b.is_pointer();
    const bool same_object = a.kind == b.kind && a.map == b.map && a.slot == b.slot;
    if (both_known && same_object)
        return (a.offset == b.offset) == (operation_of(i) == kJeq);
    return std::nullopt;
}

}  // namespace

Flow Machine::jump(std::uint32_t at, State& state, InstructionFacts* facts) const {
    const Instruction& i = code_.instructions[at];
    if (i.opcode == kExit)
        return {false, false};
    if (i.opcode == kCall)
        return {true, false};
    if (is_goto(i)) {
        const std::uint8_t inner = code_.depth[code_.target(at)];
        if (inner > code_.depth[at])
            state.enter_frame(inner);
        return {false, true};
    }
    const Value a = state.reg(i.destination, code_.depth[at]);
    const Value b = operand(at, state);
    const bool with_itself = uses_register(i) && i.source == i.destination && operation_of(i) != kJset;
    std::optional<bool> decided;
    if (with_itself)
        decided = is_taken(i, 0, 0);  // whatever the number is
    else if (a.is_constant() && b.is_constant())
        decided = is_taken(i, a.constant, b.constant);
    else
        decided = decide_pointers(i, a, b);
    if (facts != nullptr) {
        facts->branch = decided;
        facts->source_before = b;
    }
    return decided ? Flow{!*decided, *decided} : Flow{true, true};
}

void Machine::refine(std::uint32_t at, State& state, bool taken) const {
    const Instruction& i = code_.instructions[at];
    const bool equality = operation_of(i) == kJeq || operation_of(i) == kJne;
    if (!equality || class_of(i) != kClassJmp)
        return;
    const bool equal = taken == (operation_of(i) == kJeq);
    const std::uint8_t depth = code_.depth[at];
    const Value a = state.reg(i.destination, depth);
    const Value b = operand(at, state);
    if (!b.is_constant())
        return;
    if (equal && (a.kind == Value::Kind::unknown || a.kind == Value::Kind::map_value)) {
        state.set_reg(i.destination, depth, b);
    } else if (!equal && b.is_constant(0) && a.may_be_null) {
        Value found = a;
        found.may_be_null = false;
        state.set_reg(i.destination, depth, found);
    }
}

}  // namespace egpu::ebpf::specializer
