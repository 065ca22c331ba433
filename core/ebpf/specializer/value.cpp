// SPDX-License-Identifier: Apache-2.0
#include "ebpf/specializer/value.hpp"

namespace egpu::ebpf::specializer {

Value Value::of(std::uint64_t number) {
    Value value;
    value.kind = Kind::constant;
    value.constant = number;
    return value;
}

Value Value::unknown(std::uint64_t sources) {
    Value value;
    value.sources = sources;
    return value;
}

Value Value::context_at(std::int64_t offset) {
    Value value;
    value.kind = Kind::context;
    value.offset_known = true;
    value.offset = offset;
    return value;
}

Value Value::stack_at(std::uint32_t depth, std::int64_t offset) {
    Value value = context_at(offset);
    value.kind = Kind::stack;
    value.map = depth;
    return value;
}

Value Value::map_of(std::uint32_t map) {
    Value value;
    value.kind = Kind::map_object;
    value.map = map;
    return value;
}

Value Value::element(std::uint32_t map, std::uint32_t slot, std::int64_t offset) {
    Value value = context_at(offset);
    value.kind = Kind::map_value;
    value.map = map;
    value.slot_known = true;
    value.slot = slot;
    return value;
}

Value Value::in_map(std::uint32_t map, bool may_be_null, std::uint64_t sources) {
    Value value = context_at(0);
    value.kind = Kind::map_value;
    value.map = map;
    value.may_be_null = may_be_null;
    value.sources = sources;
    return value;
}

Value Value::constants_at(std::int64_t offset) {
    Value value = context_at(offset);
    value.kind = Kind::constant_data;
    return value;
}

bool Value::is_known() const {
    switch (kind) {
        case Kind::constant:
        case Kind::map_object:
            return true;
        case Kind::context:
        case Kind::stack:
        case Kind::constant_data:
            return offset_known;
        case Kind::map_value:
            return is_static_element();
        case Kind::unreached:
        case Kind::unknown:
            return false;
    }
    return false;
}

namespace {

/// NULL on one way and a pointer into a map on the other: the same pointer, perhaps NULL.
Value or_null(Value pointer, std::uint64_t sources) {
    pointer.may_be_null = true;
    pointer.sources |= sources;
    return pointer;
}

}  // namespace

Value join(const Value& a, const Value& b) {
    using Kind = Value::Kind;
    if (a.kind == Kind::unreached || a == b)
        return b;
    if (b.kind == Kind::unreached)
        return a;
    const std::uint64_t sources = a.sources | b.sources;
    if (a.kind == Kind::map_value && b.is_constant(0))
        return or_null(a, sources);
    if (b.kind == Kind::map_value && a.is_constant(0))
        return or_null(b, sources);
    const bool same_frame = a.kind != Kind::stack || a.map == b.map;
    if (a.kind != b.kind || !a.is_pointer() || a.kind == Kind::map_object || !same_frame)
        return Value::unknown(sources);
    Value joined = a;
    joined.sources = sources;
    joined.may_be_null = a.may_be_null || b.may_be_null;
    if (a.kind == Kind::map_value && a.map != b.map)
        joined.map = kAnyMap;
    if (!a.slot_known || !b.slot_known || a.slot != b.slot || joined.map == kAnyMap) {
        joined.slot_known = false;
        joined.slot = 0;
    }
    if (!a.offset_known || !b.offset_known || a.offset != b.offset) {
        joined.offset_known = false;
        joined.offset = 0;
    }
    return joined;
}

bool Value::is_never_null() const {
    constexpr std::int64_t kNear = std::int64_t{1} << 29;  // no object is as large
    if (kind == Kind::map_object)
        return true;
    return is_pointer() && !may_be_null && offset_known && offset >= -kNear && offset <= kNear;
}

namespace {

/// Offsets beyond this lead nowhere in any memory; they are not kept, so that sums of offsets can't overflow.
constexpr std::int64_t kFarthest = std::int64_t{1} << 32;

}  // namespace

Value moved(Value pointer, std::int64_t distance) {
    if (pointer.kind == Value::Kind::map_object)
        return Value::unknown(pointer.sources);
    if (!pointer.offset_known)
        return pointer;
    const bool near = distance > -kFarthest && distance < kFarthest;
    pointer.offset = near ? pointer.offset + distance : 0;
    pointer.offset_known = near && pointer.offset > -kFarthest && pointer.offset < kFarthest;
    if (!pointer.offset_known)
        pointer.offset = 0;
    return pointer;
}

Value moved_by_unknown(Value pointer, std::uint64_t sources) {
    if (pointer.kind == Value::Kind::map_object)
        return Value::unknown(pointer.sources | sources);
    pointer.offset_known = false;
    pointer.offset = 0;
    pointer.sources |= sources;
    return pointer;
}

}  // namespace egpu::ebpf::specializer
