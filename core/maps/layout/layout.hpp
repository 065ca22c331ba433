// SPDX-License-Identifier: Apache-2.0
// How a map lies in GPU memory, and which slot a key has. No allocation in the inline parts: the agent uses them.
#pragma once

#include <bit>
#include <cstdint>

namespace egpu::maps {

/// What one shard has of a chunk, at least: the distance between shards at which no two of them come to share what an
/// H200's memory hashes addresses to, wherever the map lies. (A vector addition of 16 Mi floats that counts four words
/// at 128 shards, in eight pieces of memory: 1.009 to 1.027 of plain; 1.02 to 1.06 at 4 and 64 KiB, where it depends on
/// the physical pages; 1.07 to 1.14 at 128 bytes, one line.)
inline constexpr std::uint64_t kChunkBytes = 1024;

/// A map in device memory lies in chunks, a chunk shard by shard: the value of slot s in shard h stands at
/// device_offset_of(s, 0) + h * shard_distance(). A shard is written by SMs with %smid % shards == h; a reader sums
/// over shards. Slots are handed out in order. A snapshot of some slots has the used parts of all shards one behind the
/// other, without gaps.
///
///     3 shards, 100 slots of 16 bytes, 64 to a chunk:
///     0        1024     2048     3072     4096     5120
///     | h0 0-63| h1 0-63| h2 0-63|h0 64-99|h1 64-99|h2 64-99|
struct Layout {
    std::uint32_t value_bytes = 0;
    std::uint32_t stride = 0;    ///< value_bytes rounded up to 8
    std::uint32_t capacity = 0;  ///< slots = max_entries
    std::uint32_t shards = 1;    ///< 1 unless the map is per SM

    bool is_sharded() const { return shards > 1; }
    /// Slots of a chunk: all that there are, or a power of two.
    std::uint32_t chunk_slots() const {
        if (!is_sharded() || std::uint64_t{stride} * capacity <= kChunkBytes)
            return capacity;
        return stride >= kChunkBytes ? 1 : std::bit_floor(static_cast<std::uint32_t>(kChunkBytes / stride));
    }
    std::uint32_t chunks() const {
        const std::uint32_t slots = chunk_slots();
        return slots == 0 ? 0 : (capacity + slots - 1) / slots;
    }
    /// Between the shards of one slot.
    std::uint64_t shard_distance() const {
        const std::uint64_t bytes = std::uint64_t{stride} * chunk_slots();
        return (bytes + kChunkBytes - 1) / kChunkBytes * kChunkBytes;
    }
    /// Between a chunk and the next.
    std::uint64_t chunk_distance() const { return shard_distance() * shards; }
    std::uint64_t device_bytes() const {
        return is_sharded() ? chunk_distance() * chunks() : std::uint64_t{stride} * capacity;
    }
    /// Where shard 0 has a byte of a slot.
    std::uint64_t device_offset_of(std::uint32_t slot, std::uint32_t byte) const {
        if (!is_sharded())
            return std::uint64_t{stride} * slot + byte;
        return slot / chunk_slots() * chunk_distance() + std::uint64_t{slot % chunk_slots()} * stride + byte;
    }
    std::uint64_t snapshot_bytes(std::uint32_t slots) const { return std::uint64_t{stride} * slots * shards; }
    std::uint64_t snapshot_offset_of(std::uint32_t slot, std::uint32_t byte) const {
        return std::uint64_t{stride} * slot + byte;
    }
};

/// Device bytes that one map may take before shards are shared between SMs; twice as many where each SM then has its
/// own. (They only spread contention: sums do not depend on their number.)
inline constexpr std::uint64_t kShardBudget = std::uint64_t{4} << 20;

/// Layout of a map on a device with sm_count SMs; per_sm maps get as many shards as fit kShardBudget, at least 1; a
/// power of two where that is fewer than there are SMs.
Layout make_layout(std::uint32_t value_bytes, std::uint32_t max_entries, bool per_sm, std::uint32_t sm_count);

}  // namespace egpu::maps
