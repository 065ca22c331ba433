// SPDX-License-Identifier: Apache-2.0
// f16 and bf16 to float and back, with any rounding.
#pragma once

#include <bit>
#include <cstdint>

#include "gpu/simulated/executor/operations/form.hpp"
#include "gpu/simulated/executor/operations/lane.hpp"

namespace egpu::simulated {

/// Exact.
float to_float(Half value);
inline float to_float(Brain value) {
    return std::bit_cast<float>(std::uint32_t{value.bits} << 16);
}

/// Rounds a double to a binary format of `significand` bits (hidden one included) whose exponents are those of IEEE
/// 754 with `exponent_bits`; returns sign, exponent and fraction packed. NaN gives the canonical 0x7fff.
std::uint16_t round_to_narrow(double value, int exponent_bits, int significand, Rounding rounding);
inline Half to_half(double value, Rounding rounding = Rounding::nearest) {
    return {round_to_narrow(value, 5, 11, rounding)};
}
inline Brain to_brain(double value, Rounding rounding = Rounding::nearest) {
    return {round_to_narrow(value, 8, 8, rounding)};
}

}  // namespace egpu::simulated
