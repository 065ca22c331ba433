// SPDX-License-Identifier: Apache-2.0
#include "ebpf/recheck/claims.hpp"

namespace egpu::ebpf {
namespace {

bool same_offset(const specializer::Value& claimed, const Value& seen) {
    return !claimed.offset_known ||
           (seen.scalar.is_constant() && seen.scalar.value() == static_cast<std::uint64_t>(claimed.offset));
}

bool is_slot_of(const Value& pointer, std::uint32_t slot, const SpecializedProgram& program) {
    const auto key = key_of(pointer);
    return key && *key < program.keys.size() && program.keys[*key].map == pointer.map &&
           program.keys[*key].slot == slot;
}

/// NULL, or what it became when the pointer was moved.
bool is_moved_null(const specializer::Value& claimed, const Value& seen) {
    return claimed.may_be_null && seen.is_constant() && (seen.scalar.value() == 0 || same_offset(claimed, seen));
}

bool map_value_holds(const specializer::Value& claimed, const Value& seen, const SpecializedProgram& program) {
    if (is_moved_null(claimed, seen))
        return true;
    const bool is_kind = seen.kind == Kind::map_value || (claimed.may_be_null && seen.kind == Kind::map_value_or_null);
    return is_kind && (claimed.map == kAnyMap || claimed.map == seen.map) && same_offset(claimed, seen) &&
           (!claimed.slot_known || is_slot_of(seen, claimed.slot, program));
}

}  // namespace

std::optional<std::uint32_t> key_of(const Value& pointer) {
    if (!pointer.is_map_pointer() || pointer.identity < Value::kKnownElement)
        return std::nullopt;
    return pointer.identity - Value::kKnownElement;
}

std::uint32_t identity_of_key(std::uint32_t key) {
    return Value::kKnownElement + key;
}

bool holds(const specializer::Value& claimed, const Value& seen, const SpecializedProgram& program) {
    using Claimed = specializer::Value::Kind;
    if (seen.kind == Kind::uninitialised)
        return true;  // nothing can read it
    switch (claimed.kind) {
        case Claimed::unreached:
            return false;
        case Claimed::constant:
            return seen.is_constant() && seen.scalar.value() == claimed.constant;
        case Claimed::context:
            return seen.kind == Kind::context && same_offset(claimed, seen);
        case Claimed::stack:
            return seen.kind == Kind::stack && seen.frame == claimed.map && same_offset(claimed, seen);
        case Claimed::map_object:
            return seen.kind == Kind::map_object && seen.map == claimed.map;
        case Claimed::map_value:
            return map_value_holds(claimed, seen, program);
        case Claimed::constant_data:
            return seen.kind == Kind::constants && same_offset(claimed, seen);
        case Claimed::unknown:
            return true;
    }
    return false;
}

bool points_to(const StaticElement& claimed, const Value& pointer, std::int64_t offset,
               const SpecializedProgram& program) {
    return pointer.kind == Kind::map_value && pointer.map == claimed.map &&
           is_slot_of(pointer, claimed.slot, program) && pointer.scalar.is_constant() &&
           static_cast<std::int64_t>(pointer.scalar.value()) + offset == std::int64_t{claimed.byte};
}

}  // namespace egpu::ebpf
