// SPDX-License-Identifier: Apache-2.0
// Value: what a register or a piece of the stack holds: a number, or a pointer with its provenance.
#pragma once

#include <cstdint>
#include <string>

#include "ebpf/object/object.hpp"
#include "ebpf/verifier/domain/scalar.hpp"

namespace egpu::ebpf {

enum class Kind : std::uint8_t {
    uninitialised,
    scalar,
    context,            ///< of the event
    stack,              ///< of frame `frame`; offset 0 is its end (r10)
    map_object,         ///< what a helper takes as a map
    map_value,          ///< of map `map`
    map_value_or_null,  ///< before a branch has excluded NULL
    constants,          ///< read-only global data
    partial_sum,        ///< read from a per-SM value, or made from such: one SM's part, not the value
};

struct Value {
    Kind kind = Kind::uninitialised;
    Scalar scalar;            ///< the number; a pointer's offset from its base
    std::uint32_t map = 0;    ///< map_object, map_value, map_value_or_null, partial_sum
    std::uint32_t frame = 0;  ///< stack
    /// Map values: which lookup gave it, 0 for global data; of an element known before the program runs, kKnownElement
    /// and its number.
    std::uint32_t identity = 0;
    std::uint32_t made_at = 0;  ///< instruction of that lookup, for messages
    std::uint64_t element = 0;  ///< map values: expression of map and key, as Scalar::expression

    static constexpr std::uint32_t kKnownElement = 0x80000000u;

    static Value number(const Scalar& scalar) {
        Value value;
        value.kind = Kind::scalar;
        value.scalar = scalar;
        return value;
    }
    static Value constant(std::uint64_t number) { return Value::number(Scalar::constant(number)); }
    static Value pointer(Kind kind, std::uint64_t offset = 0) {
        Value value = constant(offset);
        value.kind = kind;
        return value;
    }

    bool is_scalar() const { return kind == Kind::scalar; }
    bool is_constant() const { return is_scalar() && scalar.is_constant(); }
    bool is_pointer() const { return kind != Kind::uninitialised && kind != Kind::scalar && kind != Kind::partial_sum; }
    bool is_map_pointer() const { return kind == Kind::map_value || kind == Kind::map_value_or_null; }
    /// Offsets of both are from the same address.
    bool same_base(const Value& other) const {
        return kind == other.kind && map == other.map && frame == other.frame && identity == other.identity;
    }
};

/// "map_value_or_null(traffic, 24 bytes)+0", "ctx(egpu_mem_ctx)", "fp-16", "u32 [0, 512]".
std::string to_text(const Value& value, const Object& object, ContextKind context);

}  // namespace egpu::ebpf
