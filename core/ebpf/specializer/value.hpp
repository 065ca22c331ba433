// SPDX-License-Identifier: Apache-2.0
// What is known of one 64-bit value at one place of a program, over every visit: the specialiser's abstract domain.
#pragma once

#include <cstdint>
#include <string>

namespace egpu::ebpf::specializer {

/// Deepest local call (as the Linux verifier's MAX_CALL_FRAMES) and bytes of one frame (RFC 9669, kernel's
/// MAX_BPF_STACK).
inline constexpr std::uint32_t kMaxFrames = 8;
inline constexpr std::int64_t kFrameBytes = 512;
inline constexpr std::uint32_t kAnyMap = 0xffffffff;

/// The lattice: unreached < what is known < less known of the same kind < unknown.
struct Value {
    enum class Kind : std::uint8_t {
        unreached,      ///< no visit yet
        constant,       ///< `constant`
        context,        ///< the context, + offset
        stack,          ///< top of frame `map` (call depth), + offset (negative: inside)
        map_object,     ///< what a lookup takes as its map
        map_value,      ///< in a value of `map`: of `slot` where known, at `offset` where known
        constant_data,  ///< read-only global data, + offset
        unknown,        ///< known at run time only
    };
    Kind kind = Kind::unknown;
    bool slot_known = false;
    bool offset_known = false;
    bool may_be_null = false;  ///< map_value only
    std::uint32_t map = 0;     ///< map_object, map_value (kAnyMap: several); stack: call depth
    std::uint32_t slot = 0;
    std::int64_t offset = 0;
    std::uint64_t constant = 0;
    std::uint64_t sources = 0;  ///< what an unknown value depends on: bits of sources.hpp
    bool operator==(const Value&) const = default;

    static Value of(std::uint64_t number);
    static Value unknown(std::uint64_t sources = 0);
    static Value context_at(std::int64_t offset);
    static Value stack_at(std::uint32_t depth, std::int64_t offset);
    static Value map_of(std::uint32_t map);
    static Value element(std::uint32_t map, std::uint32_t slot, std::int64_t offset);
    static Value in_map(std::uint32_t map, bool may_be_null, std::uint64_t sources);
    static Value constants_at(std::int64_t offset);

    bool is_constant() const { return kind == Kind::constant; }
    bool is_constant(std::uint64_t number) const { return kind == Kind::constant && constant == number; }
    bool is_pointer() const { return kind != Kind::unreached && kind != Kind::constant && kind != Kind::unknown; }
    bool is_static_element() const {
        return kind == Kind::map_value && slot_known && offset_known && !may_be_null && map != kAnyMap;
    }
    /// True where no register has to hold it at run time: code can name it at each use.
    bool is_known() const;
    /// A pointer that is certainly not NULL: one that was moved by any number may have wrapped around.
    bool is_never_null() const;
};

/// The least value that stands for both.
Value join(const Value& a, const Value& b);
/// A pointer moved by a known distance, or by one that is known at run time only.
Value moved(Value pointer, std::int64_t distance);
Value moved_by_unknown(Value pointer, std::uint64_t sources);

}  // namespace egpu::ebpf::specializer
