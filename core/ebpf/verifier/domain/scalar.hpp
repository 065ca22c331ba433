// SPDX-License-Identifier: Apache-2.0
// Scalar: what is known of a number in a register. Bits, and ranges as an unsigned and as a signed number of 64 and
// of 32 bits; beside that where it came from.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include "ebpf/events/events.hpp"
#include "ebpf/verifier/domain/tristate.hpp"

namespace egpu::ebpf {

/// Bounds of a word, seen as unsigned and as signed; both hold.
template <typename Unsigned>
struct Range {
    using Signed = std::make_signed_t<Unsigned>;
    Unsigned low = 0;
    Unsigned high = std::numeric_limits<Unsigned>::max();
    Signed signed_low = std::numeric_limits<Signed>::min();
    Signed signed_high = std::numeric_limits<Signed>::max();

    static Range constant(Unsigned number) {
        return {number, number, static_cast<Signed>(number), static_cast<Signed>(number)};
    }
    static Range between(Unsigned low, Unsigned high) {
        return {low, high, std::numeric_limits<Signed>::min(), std::numeric_limits<Signed>::max()};
    }
    bool contains(Unsigned number) const {
        const auto as_signed = static_cast<Signed>(number);
        return low <= number && number <= high && signed_low <= as_signed && as_signed <= signed_high;
    }
    bool contains(const Range& other) const {
        return low <= other.low && other.high <= high && signed_low <= other.signed_low &&
               other.signed_high <= signed_high;
    }
    bool empty() const { return low > high || signed_low > signed_high; }
    bool operator==(const Range&) const = default;
};

/// What a number is as it stands; arithmetic makes it `computed`.
enum class Origin : std::uint8_t {
    computed,
    of_all_lanes,  ///< active_lanes, or a sum over the lanes: one number for all that fire together
    map_value,     ///< a plain load of a map's value
};

struct Scalar {
    Tristate bits;
    Range<std::uint64_t> wide;
    Range<std::uint32_t> narrow;  ///< of the low 32 bits
    Variability variability = Variability::site;
    bool application_address = false;       ///< made from an address or a pointer of the application
    std::uint64_t loaded_from = 0;          ///< bit m: made from a value of map m (63: of map 63 or above)
    std::uint64_t plainly_loaded_from = 0;  ///< of these, those where a plain load read it, not an atomic operation
    Origin origin = Origin::computed;       ///< for messages only
    std::int64_t origin_offset = 0;         ///< map_value: the byte of the value
    std::uint32_t link = 0;                 ///< registers with one link (not 0) hold the same number
    std::uint32_t depth = 0;                ///< how many branches of State::divergences were open when it was written
    /// Of numbers known at the site: equal where they are computed in the same way. A constant's is that of its number,
    /// however it came about (tighten() sees to it).
    std::uint64_t expression = 0;

    static Scalar constant(std::uint64_t number);
    static Scalar between(std::uint64_t low, std::uint64_t high);
    /// Any number of so many bytes, zero-extended.
    static Scalar of_bytes(std::uint32_t bytes);

    bool is_constant() const { return bits.is_constant(); }
    std::uint64_t value() const { return bits.value; }
    bool contains(std::uint64_t number) const {
        return bits.contains(number) && wide.contains(number) && narrow.contains(static_cast<std::uint32_t>(number));
    }
    /// The numbers of `other` are all among these.
    bool contains_numbers(const Scalar& other) const {
        return bits.contains(other.bits) && wide.contains(other.wide) && narrow.contains(other.narrow);
    }
    /// Lets bits and ranges narrow one another; false where no number is left.
    [[nodiscard]] bool tighten();
    /// Takes the provenance of an operand along.
    void derive_from(const Scalar& operand);
};

/// The bit of a map in Scalar::loaded_from.
inline std::uint64_t map_bit(std::uint32_t map) {
    return std::uint64_t{1} << (map < 63 ? map : 63);
}

/// The expression of an operation on others.
std::uint64_t combine(std::uint64_t operation, std::uint64_t a, std::uint64_t b);

inline Variability most_varying(Variability a, Variability b) {
    return a < b ? b : a;
}

/// "5", "u32 [0, 512]", "[-4, 4]", "u64".
std::string to_text(const Scalar& scalar);

}  // namespace egpu::ebpf
