// SPDX-License-Identifier: Apache-2.0
// How a map lies in GPU memory, and which slot a key has. No allocation in the inline parts: the agent uses them.
#pragma once

#include <cstdint>

namespace egpu::maps {

/// A map in device memory: value of slot s, shard h at (s * shards + h) * stride. Slots are handed out in order, so
/// the used part is a prefix. A shard is written by SMs with %smid % shards == h; a reader sums over shards.
struct Layout {
    std::uint32_t value_bytes = 0;
    std::uint32_t stride = 0;    ///< value_bytes rounded up to 8
    std::uint32_t capacity = 0;  ///< slots = max_entries
    std::uint32_t shards = 1;    ///< 1 unless the map is per SM
    std::uint64_t device_bytes() const { return std::uint64_t{stride} * capacity * shards; }
    std::uint64_t used_bytes(std::uint32_t slots) const { return std::uint64_t{stride} * slots * shards; }
    std::uint64_t offset_of(std::uint32_t slot, std::uint32_t byte) const {
        return std::uint64_t{stride} * slot * shards + byte;
    }
    /// Distances between neighbouring slots of one shard, and between the shards of one slot.
    std::uint64_t slot_distance() const { return std::uint64_t{stride} * shards; }
    std::uint64_t shard_distance() const { return stride; }
};

/// Device bytes that one map may take before shards are shared between SMs (they only spread contention: sums do not
/// depend on their number).
inline constexpr std::uint64_t kShardBudget = std::uint64_t{4} << 20;

/// Layout of a map on a device with sm_count SMs; per_sm maps get as many shards as fit kShardBudget, at least 1.
Layout make_layout(std::uint32_t value_bytes, std::uint32_t max_entries, bool per_sm, std::uint32_t sm_count);

}  // namespace egpu::maps
