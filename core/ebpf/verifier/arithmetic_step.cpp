// SPDX-License-Identifier: Apache-2.0
// Steps of arithmetic, moves and 64-bit immediate loads (RFC 9669 sections 4.1, 4.2, 5.4).
#include <fmt/format.h>

#include <cstdint>

#include "ebpf/verifier/domain/arithmetic.hpp"
#include "ebpf/verifier/walk.hpp"

namespace egpu::ebpf {
namespace {

Width width_of(const Instruction& i) {
    return class_of(i) == kClassAlu64 ? Width::bits64 : Width::bits32;
}

bool is_unary(const Instruction& i) {
    return operation_of(i) == kNeg || operation_of(i) == kEnd;
}

/// A pointer and a number that was added or subtracted.
Value moved_pointer(const Instruction& i, const Value& left, const Value& right) {
    if (left.is_pointer() && right.is_pointer()) {
        Scalar distance = compute(kSub, Width::bits64, false, left.scalar, right.scalar);
        return Value::number(distance);
    }
    Value result = left.is_pointer() ? left : right;
    const auto operation = static_cast<AluCode>(operation_of(i));
    result.scalar = compute(operation, Width::bits64, false, left.scalar, right.scalar);
    return result;
}

Scalar number_result(const Instruction& i, const Scalar& left, const Scalar& right) {
    const auto operation = static_cast<AluCode>(operation_of(i));
    if (operation == kEnd) {
        const bool swap = class_of(i) == kClassAlu64 || uses_register(i);
        return byte_order(left, static_cast<unsigned>(i.immediate), swap);
    }
    // x ^ x and x - x are 0 whatever x is.
    const bool same = uses_register(i) && i.source == i.destination;
    if (same && (operation == kXor || operation == kSub))
        return Scalar::constant(0);
    return compute(operation, width_of(i), i.offset != 0, left, right);
}

}  // namespace

Value Walk::operand(const State& state, const Instruction& i) const {
    if (uses_register(i))
        return state.get(i.source);
    return Value::constant(static_cast<std::uint64_t>(std::int64_t{i.immediate}));
}

/// A move: a pointer or a number as it is, or the low bits of a number.
static Value moved(const Instruction& i, State& state, const Value& source) {
    if (!source.is_scalar())
        return source;
    Value result = source;
    if (i.offset != 0) {
        result.scalar = sign_extend(source.scalar, static_cast<unsigned>(i.offset), width_of(i));
    } else if (class_of(i) == kClassAlu) {
        result.scalar = low_word(source.scalar);
        if (source.scalar.wide.high <= UINT32_MAX)
            result.scalar.origin = source.scalar.origin;  // nothing is cut off
    } else if (uses_register(i) && !source.scalar.is_constant()) {
        // What a branch tells of one of the two it tells of the other.
        result.scalar.link = state.link(i.source);
        return result;
    }
    result.scalar.link = 0;
    return result;
}

Verdict Walk::step_arithmetic(State& state) {
    const Instruction& i = program_.instructions[state.at];
    const bool moves = operation_of(i) == kMov;
    if (auto refusal = check_writable(i.destination))
        return refusal;
    if (!moves)
        if (auto refusal = check_readable(scene(state), i.destination))
            return refusal;
    if (!is_unary(i) && uses_register(i))
        if (auto refusal = check_readable(scene(state), i.source))
            return refusal;
    const Value left = moves ? Value::constant(0) : state.get(i.destination);
    const Value right = is_unary(i) ? Value::constant(0) : operand(state, i);
    const bool pointers = left.is_pointer() || right.is_pointer();
    Value result;
    if (left.kind == Kind::partial_sum || right.kind == Kind::partial_sum) {
        result = left.kind == Kind::partial_sum ? left : right;
        if (pointers)
            return check_number(scene(state), result, "used as an offset");
    } else if (pointers && !(moves && class_of(i) == kClassAlu64 && i.offset == 0)) {
        if (auto refusal = check_pointer_arithmetic(scene(state), left, right))
            return refusal;
        result = moved_pointer(i, left, right);
    } else if (moves) {
        result = moved(i, state, right);
    } else {
        result = Value::number(number_result(i, left.scalar, right.scalar));
    }
    state.set(i.destination, result);
    ++state.at;
    return std::nullopt;
}

Verdict Walk::step_immediate64(State& state) {
    const Instruction& i = program_.instructions[state.at];
    const Instruction& second = program_.instructions[state.at + 1];
    if (auto refusal = check_writable(i.destination))
        return refusal;
    Value value;
    if (i.source == kPseudoMap) {
        if (static_cast<std::uint32_t>(i.immediate) >= object_.maps.size()) {
            Refusal refusal;
            refusal.code = "EGPU-V001";
            refusal.message = "the program names a map that the object doesn't have";
            refusal.why = fmt::format("it has {}, and this is number {}", object_.maps.size(), i.immediate);
            refusal.fix = "compile the program again; the object is damaged";
            return refusal;
        }
        value = Value::pointer(Kind::map_object);
        value.map = static_cast<std::uint32_t>(i.immediate);
        if (auto refusal = check_map_available(scene(state), value.map))
            return refusal;
        found_.maps_used.insert(value.map);
    } else if (i.source == kPseudoMapValue) {
        if (auto refusal = check_global_data(scene(state)))
            return refusal;
        const bool constants = static_cast<std::uint32_t>(i.immediate) == Object::kConstantsMap;
        value =
            Value::pointer(constants ? Kind::constants : Kind::map_value, static_cast<std::uint32_t>(second.immediate));
        if (!constants) {
            value.map = static_cast<std::uint32_t>(i.immediate);
            value.element = combine(0xa04, value.map, 0);
            found_.maps_used.insert(value.map);
        }
    } else {
        const auto low = static_cast<std::uint32_t>(i.immediate);
        const auto high = static_cast<std::uint32_t>(second.immediate);
        value = Value::constant(std::uint64_t{high} << 32 | low);
    }
    state.set(i.destination, value);
    state.at += 2;
    return std::nullopt;
}

}  // namespace egpu::ebpf
