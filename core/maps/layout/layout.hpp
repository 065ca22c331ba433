// SPDX-License-Identifier: Apache-2.0
// How a map lies in GPU memory, and which slot a key has. No allocation in the inline parts: the agent uses them.
#pragma once

#include <cstdint>

namespace egpu::maps {

/// A cache line of a GPU.
inline constexpr std::uint64_t kLineBytes = 128;

/// A map in device memory lies shard by shard, each on lines of its own: value of slot s, shard h at
/// h * shard_distance() + s * stride. (Slot by slot, the shards of a slot shared lines: a vector addition on an H200
/// took 490 us so, and 97 us shard by shard.) A shard is written by SMs with %smid % shards == h; a reader sums over
/// shards. Slots are handed out in order, so the used part of each shard is a prefix. A snapshot of some slots has the
/// used parts of all shards one behind the other, without gaps.
struct Layout {
    std::uint32_t value_bytes = 0;
    std::uint32_t stride = 0;    ///< value_bytes rounded up to 8
    std::uint32_t capacity = 0;  ///< slots = max_entries
    std::uint32_t shards = 1;    ///< 1 unless the map is per SM
    std::uint64_t device_bytes() const {
        return shards <= 1 ? std::uint64_t{stride} * capacity * shards : shard_distance() * shards;
    }
    std::uint64_t snapshot_bytes(std::uint32_t slots) const { return std::uint64_t{stride} * slots * shards; }
    /// Where shard 0 has a byte of a slot, on the device and in a snapshot.
    std::uint64_t offset_of(std::uint32_t slot, std::uint32_t byte) const {
        return std::uint64_t{stride} * slot + byte;
    }
    /// Distances between neighbouring slots of one shard, and between the shards of one slot.
    std::uint64_t slot_distance() const { return stride; }
    std::uint64_t shard_distance() const {
        return (std::uint64_t{stride} * capacity + kLineBytes - 1) / kLineBytes * kLineBytes;
    }
};

/// Device bytes that one map may take before shards are shared between SMs; twice as many where each SM then has its
/// own. (They only spread contention: sums do not depend on their number. A vector addition that counts at once at an
/// H200's 132 SMs: 65.0 us with 128 shards, 68.3 us with 64.)
inline constexpr std::uint64_t kShardBudget = std::uint64_t{4} << 20;

/// Layout of a map on a device with sm_count SMs; per_sm maps get as many shards as fit kShardBudget, at least 1; a
/// power of two where that is fewer than there are SMs.
Layout make_layout(std::uint32_t value_bytes, std::uint32_t max_entries, bool per_sm, std::uint32_t sm_count);

}  // namespace egpu::maps
