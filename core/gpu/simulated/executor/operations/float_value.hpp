// SPDX-License-Identifier: Apache-2.0
// Small rules of PTX floating point that all float handlers share (PTX ISA 9.0, sections 9.7.3 and 9.7.4).
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace egpu::simulated {

/// .ftz: subnormal values become zero of the same sign.
inline float flush(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    return (bits & 0x7f800000U) == 0 ? std::bit_cast<float>(bits & 0x80000000U) : value;
}
/// .ftz exists for f32 only; the same names let templates treat both.
inline double flush(double value) {
    return value;
}
/// rcp.approx.ftz.f64 and its like do flush.
inline double flush_double(double value) {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    return (bits & 0x7ff0'0000'0000'0000U) == 0 ? std::bit_cast<double>(bits & 0x8000'0000'0000'0000U) : value;
}

/// A NaN result of f32 arithmetic is 0x7fffffff.
inline float canonical(float value) {
    return value != value ? std::bit_cast<float>(0x7fffffffU) : value;
}
/// f64 keeps what it got; a NaN made of numbers is 0xfff8000000000000 on both hosts and GPUs.
inline double canonical(double value) {
    return value;
}

/// .sat: to [0, 1], NaN to +0.
template <typename T>
T saturate(T value) {
    return value > T{0} ? (value < T{1} ? value : T{1}) : T{0};
}

}  // namespace egpu::simulated
