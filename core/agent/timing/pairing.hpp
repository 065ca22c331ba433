// SPDX-License-Identifier: Apache-2.0
// Which launches run the copy while overhead is measured: launches of one kernel and one shape go in pairs, in each of
// which one runs the copy and the other the original, in an order that is chosen anew for each pair and so in step with
// nothing that the application does. All on the launch, without a lock.
#pragma once

#include <cstdint>

namespace egpu::agent {

/// What a launch's time depends on as far as its parameters tell.
struct TimedShape {
    unsigned int grid[3] = {1, 1, 1};
    unsigned int block[3] = {1, 1, 1};
    unsigned int shared_bytes = 0;  ///< dynamic
    unsigned int cluster[3] = {0, 0, 0};
    bool cooperative = false;
};

/// The finaliser of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
constexpr std::uint64_t mixed(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/// A word for a shape. Two shapes share theirs by a chance of 2^-52.
constexpr std::uint64_t key_of(const TimedShape& shape) {
    std::uint64_t key = shape.cooperative ? 1 : 0;
    const auto take = [&key](unsigned int value) { key = mixed(key ^ value); };
    for (const unsigned int value : shape.grid)
        take(value);
    for (const unsigned int value : shape.block)
        take(value);
    take(shape.shared_bytes);
    for (const unsigned int value : shape.cluster)
        take(value);
    return key;
}

inline constexpr unsigned int kNoSlot = 1023;  ///< of the timers: a pair that is not timed

/// A pair of which one launch was made, in one word; 0: none.
struct OpenPair {
    bool first_runs_copy = false;
    unsigned int slot = kNoSlot;
    std::uint64_t key = 0;  ///< of the shape, its low 52 bits

    static constexpr std::uint64_t kKey = (std::uint64_t{1} << 52) - 1;
    constexpr std::uint64_t word() const {
        return std::uint64_t{1} << 63 | std::uint64_t{first_runs_copy} << 62 | std::uint64_t{slot} << 52 | (key & kKey);
    }
    static constexpr bool is_open(std::uint64_t word) { return word != 0; }
    static constexpr OpenPair of(std::uint64_t word) {
        return {(word >> 62 & 1) != 0, static_cast<unsigned int>(word >> 52) & kNoSlot, word & kKey};
    }
};

/// Whether the first launch of a copy's pair number `number` runs the copy: a fixed sequence, the same in each run.
constexpr bool first_runs_copy(std::uint64_t number) {
    return (mixed(number ^ 0x6567707500000000u) >> 63) != 0;
}

/// The pairs of one copy, or its launches that are timed alone. All of it atomic.
struct alignas(64) Pairing {
    static constexpr unsigned int kOpen = 12;  // shapes at a time; all of it in two cache lines
    std::uint64_t open[kOpen] = {};
    std::uint64_t begun = 0;           // pairs, for their order; of launches timed alone the first ones
    std::uint64_t without_room = 0;    // launches of further shapes
    std::uint32_t is_warm = 0;         // one pair was finished: both functions have been loaded and run
    std::uint32_t timed_at_drain = 0;  // which drain was last when a launch was timed alone
};

}  // namespace egpu::agent
