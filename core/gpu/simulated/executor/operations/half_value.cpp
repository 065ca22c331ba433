// SPDX-License-Identifier: Apache-2.0
// Narrow binary floats by integer arithmetic (IEEE 754-2019, section 4.3).
#include "gpu/simulated/executor/operations/half_value.hpp"

#include <algorithm>

namespace egpu::simulated {

float to_float(Half value) {
    const std::uint32_t sign = std::uint32_t{value.bits} >> 15 << 31;
    const std::uint32_t exponent = value.bits >> 10 & 0x1f;
    const std::uint32_t fraction = value.bits & 0x3ff;
    if (exponent == 0x1f) {
        return std::bit_cast<float>(sign | 0x7f800000U | fraction << 13);
    }
    if (exponent == 0) {
        const float magnitude = static_cast<float>(fraction) * 0x1p-24F;
        return sign != 0 ? -magnitude : magnitude;
    }
    return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
}

std::uint16_t round_to_narrow(double value, int exponent_bits, int significand, Rounding rounding) {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    const bool negative = bits >> 63 != 0;
    const auto sign = static_cast<std::uint16_t>(negative ? 0x8000 : 0);
    const auto raw_exponent = static_cast<int>(bits >> 52 & 0x7ff);
    const std::uint64_t fraction = bits & 0xf'ffff'ffff'ffff;
    const auto infinity = static_cast<std::uint16_t>(((1 << exponent_bits) - 1) << (significand - 1));
    if (raw_exponent == 0x7ff) {
        return fraction != 0 ? std::uint16_t{0x7fff} : static_cast<std::uint16_t>(sign | infinity);
    }
    if (raw_exponent == 0 && fraction == 0) {
        return sign;
    }
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const std::uint64_t whole =
        raw_exponent == 0 ? fraction : fraction | std::uint64_t{1} << 52;  // value = whole * 2^(exponent - 52)
    const int exponent = raw_exponent == 0 ? -1022 : raw_exponent - 1023;
    const int target = std::max(exponent, 1 - bias);                              // subnormals share the least exponent
    const int drop = std::min(52 - (significand - 1) + (target - exponent), 62);  // low bits of `whole` that don't fit
    std::uint64_t kept = whole >> drop;
    const std::uint64_t rest = whole & ((std::uint64_t{1} << drop) - 1);
    const std::uint64_t half = std::uint64_t{1} << (drop - 1);
    const bool up = rounding == Rounding::nearest ? rest > half || (rest == half && (kept & 1) != 0)
                    : rounding == Rounding::up    ? rest != 0 && !negative
                    : rounding == Rounding::down  ? rest != 0 && negative
                                                  : false;
    kept += up ? 1 : 0;
    // The hidden one, if there, adds 1 to the exponent field; so does a carry out of the fraction.
    const std::uint64_t packed = (static_cast<std::uint64_t>(target + bias - 1) << (significand - 1)) + kept;
    if (packed >= infinity) {
        const bool to_infinity = rounding == Rounding::nearest || (rounding == Rounding::up && !negative) ||
                                 (rounding == Rounding::down && negative);
        return static_cast<std::uint16_t>(sign | (to_infinity ? infinity : infinity - 1));
    }
    return static_cast<std::uint16_t>(sign | packed);
}

}  // namespace egpu::simulated
