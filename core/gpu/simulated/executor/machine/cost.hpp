// SPDX-License-Identifier: Apache-2.0
// What an instruction adds to %clock: a fixed table that gives programs which read the clock something repeatable. It
// is no model of a GPU's time; values are shown with the unit "simulated cycles".
#pragma once

#include <cstdint>

namespace egpu::simulated::cost {

inline constexpr std::uint16_t kArithmetic = 4;  ///< integer, logic, f32 add/mul/fma, comparisons, moves
inline constexpr std::uint16_t kDouble = 8;      ///< f64 add, mul, fma
inline constexpr std::uint16_t kConversion = 8;
inline constexpr std::uint16_t kApproximation = 16;  ///< sin, ex2, rcp.approx ...
inline constexpr std::uint16_t kDivision = 40;       ///< integer and exact float division, square root
inline constexpr std::uint16_t kControl = 4;         ///< branches, calls, returns
inline constexpr std::uint16_t kSharedMemory = 24;
inline constexpr std::uint16_t kConstantMemory = 8;  ///< parameters, .const
inline constexpr std::uint16_t kLocalMemory = 40;
inline constexpr std::uint16_t kGlobalMemory = 400;
inline constexpr std::uint16_t kStore = 8;
inline constexpr std::uint16_t kGlobalAtomic = 500;
inline constexpr std::uint16_t kSharedAtomic = 60;
inline constexpr std::uint16_t kCollective = 24;  ///< shfl, vote, match, redux
inline constexpr std::uint16_t kBarrier = 20;
inline constexpr std::uint16_t kFence = 100;
inline constexpr std::uint16_t kMatrix = 32;  ///< wmma, mma, ldmatrix, stmatrix

}  // namespace egpu::simulated::cost
