// SPDX-License-Identifier: Apache-2.0
// bpf_get_prandom_u32 by arithmetic on what a thread knows: no state is kept, none is shared.
#pragma once

#include <cstdint>

namespace egpu::ebpf {

// The constants of splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
inline constexpr std::uint64_t kRandomStep = 0x9e3779b97f4a7c15;
inline constexpr std::uint64_t kRandomFirst = 0xbf58476d1ce4e5b9, kRandomSecond = 0x94d049bb133111eb;
/// Warps that an SM holds at most, with room; lanes of a warp.
inline constexpr std::uint32_t kRandomWarps = 64, kRandomLanes = 32;

/// Of threads that run at once, each has a number of its own.
constexpr std::uint32_t random_stream(std::uint32_t sm, std::uint32_t warp, std::uint32_t lane) {
    return (sm * kRandomWarps + warp) * kRandomLanes + lane;
}

/// A clock moves on between two calls of one thread, the stream tells apart threads at one time.
constexpr std::uint32_t random_number(std::uint64_t clock, std::uint32_t stream) {
    std::uint64_t mixed = clock + stream * kRandomStep;
    mixed = (mixed ^ mixed >> 30) * kRandomFirst;
    mixed = (mixed ^ mixed >> 27) * kRandomSecond;
    return static_cast<std::uint32_t>(mixed >> 32);
}

}  // namespace egpu::ebpf
