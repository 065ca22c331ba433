// SPDX-License-Identifier: Apache-2.0
// Steps of conditional jumps: each side that is possible is followed with what the comparison tells of it.
#include <optional>

#include "ebpf/verifier/domain/compare.hpp"
#include "ebpf/verifier/walk.hpp"

namespace egpu::ebpf {
namespace {

Width width_of(const Instruction& i) {
    return class_of(i) == kClassJmp ? Width::bits64 : Width::bits32;
}

/// Registers and stack that hold the same number as one that a branch narrowed are narrowed with it.
void narrow_linked(State& state, const Scalar& narrowed) {
    if (narrowed.link == 0)
        return;
    state.for_each_value([&](Value& value) {
        if (value.is_scalar() && value.scalar.link == narrowed.link) {
            const Scalar before = value.scalar;
            value.scalar = narrowed;
            value.scalar.variability = before.variability;
            value.scalar.depth = before.depth;
        }
    });
}

/// After a test for NULL: every copy of the pointer is now one, or is the number 0.
void settle_null(State& state, std::uint32_t identity, bool is_null) {
    state.for_each_value([&](Value& value) {
        if (value.kind != Kind::map_value_or_null || value.identity != identity)
            return;
        if (!is_null) {
            value.kind = Kind::map_value;
            return;
        }
        const Scalar before = value.scalar;
        value = Value::constant(0);
        value.scalar.variability = before.variability;
        value.scalar.depth = before.depth;
    });
}

bool is_null_constant(const Value& value) {
    return value.is_constant() && value.scalar.value() == 0;
}

/// Nothing keeps a pointer's offset small until it is used: beyond this an address may have wrapped around, and says
/// nothing of order, nor that it isn't 0. No object is as large.
constexpr std::int64_t kFarthest = std::int64_t{1} << 29;

bool may_wrap(const Scalar& offset) {
    return offset.wide.signed_low < -kFarthest || offset.wide.signed_high > kFarthest;
}

/// Pointers into one object compare as their offsets do; where no address wraps around, the order is the signed one.
JumpCode on_offsets(JumpCode operation) {
    switch (operation) {
        case kJgt:
            return kJsgt;
        case kJge:
            return kJsge;
        case kJlt:
            return kJslt;
        case kJle:
            return kJsle;
        default:
            return operation;
    }
}

/// Whether a comparison of pointers can have an outcome; the state is narrowed by it.
bool assume_pointers(State& state, const Instruction& i, const Value& left, const Value& right, bool outcome) {
    const auto operation = static_cast<JumpCode>(operation_of(i));
    const bool with_null = is_null_constant(left) || is_null_constant(right);
    if (with_null) {
        const Value& pointer = left.is_pointer() ? left : right;
        const bool is_null = (operation == kJeq) == outcome;
        if (pointer.kind != Kind::map_value_or_null)
            return !is_null || may_wrap(pointer.scalar);
        settle_null(state, pointer.identity, is_null);
        return true;
    }
    // NULL or not, an unsettled pointer tells nothing of another one.
    if (!left.same_base(right) || left.kind == Kind::map_value_or_null)
        return true;
    Scalar a = left.scalar, b = right.scalar;
    if (operation != kJeq && operation != kJne && (may_wrap(a) || may_wrap(b)))
        return true;
    return assume(on_offsets(operation), Width::bits64, outcome, a, b);
}

/// What comparing two copies of one number, or of one pointer, comes to; nullopt where that depends on it.
std::optional<bool> outcome_of_equals(JumpCode operation) {
    switch (operation) {
        case kJeq:
        case kJge:
        case kJle:
        case kJsge:
        case kJsle:
            return true;
        case kJset:
            return std::nullopt;
        default:
            return false;
    }
}

bool are_copies(const Instruction& i, const Value& left, const Value& right) {
    if (!uses_register(i))
        return false;
    const bool linked =
        left.is_scalar() && right.is_scalar() && left.scalar.link != 0 && left.scalar.link == right.scalar.link;
    return linked || i.source == i.destination;
}

bool assume_numbers(State& state, const Instruction& i, const Value& left, const Value& right, bool outcome) {
    Scalar a = left.scalar, b = right.scalar;
    if (!assume(static_cast<JumpCode>(operation_of(i)), width_of(i), outcome, a, b))
        return false;
    if (are_copies(i, left, right))
        return true;  // what it tells beyond its outcome isn't kept
    state.frame().registers[i.destination].scalar = a;
    narrow_linked(state, a);
    if (uses_register(i)) {
        state.frame().registers[i.source].scalar = b;
        narrow_linked(state, b);
    }
    return true;
}

}  // namespace

Verdict Walk::step_branch(State& state, Explored::Node node) {
    const Instruction& i = program_.instructions[state.at];
    if (auto refusal = check_readable(scene(state), i.destination))
        return refusal;
    if (uses_register(i))
        if (auto refusal = check_readable(scene(state), i.source))
            return refusal;
    const Value left = state.get(i.destination);
    const Value right = operand(state, i);
    if (auto refusal = check_comparison(scene(state), left, right))
        return refusal;
    // Also where one side is impossible: another path decided that, and may have differed.
    Scalar decided_by;
    decided_by.derive_from(left.scalar);
    decided_by.derive_from(right.scalar);
    if (decided_by.variability != Variability::site)
        state.diverge(flow_.join[state.at], decided_by);
    if (decided_by.variability == Variability::lane && flow_.in_loop[state.at] != 0)
        state.lanes_looped = true;
    if (asks_lanes_ && state.lanes_parted)
        state.branch_later(flow_.join[state.at]);
    state.lanes_parted |= asks_lanes_ && decided_by.variability == Variability::lane;
    const bool pointers = left.is_pointer() || right.is_pointer();
    State taken = state;
    taken.came_from = state.at;
    taken.at = target_of(i, state.at);
    const auto known =
        are_copies(i, left, right) ? outcome_of_equals(static_cast<JumpCode>(operation_of(i))) : std::nullopt;
    const auto possible = [&](State& side, bool outcome) {
        if (known)
            return *known == outcome;
        return pointers ? assume_pointers(side, i, left, right, outcome)
                        : assume_numbers(side, i, left, right, outcome);
    };
    const bool can_take = possible(taken, true);
    const bool can_pass = possible(state, false);
    if (observer_ != nullptr)
        if (auto refusal = observer_->branches(can_take, can_pass))
            return refusal;
    ++state.at;
    if (can_pass && can_take) {
        explored_.fork(node);
        pending_.push_back({std::move(taken), node});
    } else if (can_take) {
        state = std::move(taken);
    }
    return std::nullopt;
}

}  // namespace egpu::ebpf
