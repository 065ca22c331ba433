// SPDX-License-Identifier: Apache-2.0
// 8-bit floats (PTX ISA 9.0, section 5.2.3): e4m3 has no infinity, and one NaN of each sign; e5m2 is the upper half of
// an f16.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "gpu/simulated/executor/operations/half_value.hpp"

namespace egpu::simulated {

inline float from_e5m2(std::uint8_t bits) {
    return to_float(Half{static_cast<std::uint16_t>(bits << 8)});
}

inline float from_e4m3(std::uint8_t bits) {
    const unsigned magnitude = bits & 0x7f, exponent = magnitude >> 3, fraction = magnitude & 7;
    if (magnitude == 0x7f) {
        return std::bit_cast<float>(0x7fffffffU);
    }
    const float value = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -9)
                                      : std::ldexp(static_cast<float>(8 + fraction), static_cast<int>(exponent) - 10);
    return (bits & 0x80) != 0 ? -value : value;
}

/// .rn.satfinite: what is larger than the largest number becomes that; NaN is 0x7f.
inline std::uint8_t to_e4m3(double value) {
    if (value != value) {
        return 0x7f;
    }
    const std::uint8_t sign = std::signbit(value) ? 0x80 : 0;
    const double magnitude = std::fabs(value);
    if (magnitude >= 448.0) {
        return sign | 0x7e;
    }
    int exponent = 0;
    std::frexp(magnitude, &exponent);
    // Units of 2^-9 below the least normal number (2^-6), else of an eighth of its power of two.
    const int unit = magnitude < 0x1p-6 ? -9 : exponent - 4;
    const double scaled = std::ldexp(magnitude, -unit);
    double units = std::floor(scaled);
    const double rest = scaled - units;
    units += rest > 0.5 || (rest == 0.5 && std::fmod(units, 2.0) != 0) ? 1 : 0;
    const double rounded = std::ldexp(units, unit);
    if (rounded < 0x1p-6) {
        return sign | static_cast<std::uint8_t>(units);
    }
    std::frexp(rounded, &exponent);
    const auto fraction = static_cast<unsigned>(std::ldexp(rounded, 4 - exponent)) & 7;
    return sign | static_cast<std::uint8_t>((static_cast<unsigned>(exponent + 6) << 3) | fraction);
}

inline std::uint8_t to_e5m2(double value) {
    if (value != value) {
        return 0x7f;
    }
    const std::uint8_t sign = std::signbit(value) ? 0x80 : 0;
    const double magnitude = std::fabs(value);
    if (magnitude >= 57344.0) {
        return sign | 0x7b;
    }
    return sign | static_cast<std::uint8_t>(round_to_narrow(magnitude, 5, 3, Rounding::nearest));
}

}  // namespace egpu::simulated
