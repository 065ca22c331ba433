// SPDX-License-Identifier: Apache-2.0
// Tristate numbers: what is known of each bit of a 64-bit value (Vishwanathan et al., "Sound, Precise, and Fast
// Abstract Interpretation with Tristate Numbers", CGO 2022).
#pragma once

#include <cstdint>
#include <optional>

namespace egpu::ebpf {

/// A bit is unknown where `mask` has it, else it is the bit of `value`. Invariant: (value & mask) == 0.
struct Tristate {
    std::uint64_t value = 0;
    std::uint64_t mask = ~std::uint64_t{0};

    static Tristate constant(std::uint64_t number) { return {number, 0}; }
    static Tristate unknown() { return {}; }
    /// Every number of [low, high]: the bits above the highest one that differs.
    static Tristate of_range(std::uint64_t low, std::uint64_t high);

    bool is_constant() const { return mask == 0; }
    std::uint64_t least() const { return value; }
    std::uint64_t greatest() const { return value | mask; }
    bool contains(std::uint64_t number) const { return (number & ~mask) == value; }
    bool contains(Tristate other) const { return (other.mask & ~mask) == 0 && contains(other.value); }
    /// The low 32 bits, the upper ones zero.
    Tristate low_half() const { return {value & 0xffffffffu, mask & 0xffffffffu}; }
    Tristate high_half() const { return {value & ~std::uint64_t{0xffffffffu}, mask & ~std::uint64_t{0xffffffffu}}; }

    bool operator==(const Tristate&) const = default;
};

Tristate add(Tristate a, Tristate b);
Tristate subtract(Tristate a, Tristate b);
Tristate multiply(Tristate a, Tristate b);
Tristate bit_and(Tristate a, Tristate b);
Tristate bit_or(Tristate a, Tristate b);
Tristate bit_xor(Tristate a, Tristate b);
/// Shifts by a known amount below the width.
Tristate shift_left(Tristate a, unsigned amount);
Tristate shift_right(Tristate a, unsigned amount);
Tristate shift_right_signed(Tristate a, unsigned amount, unsigned width);

/// Numbers in both; nullopt where a known bit contradicts.
std::optional<Tristate> intersect(Tristate a, Tristate b);

}  // namespace egpu::ebpf
