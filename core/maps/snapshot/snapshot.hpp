// SPDX-License-Identifier: Apache-2.0
// Reading a map that another process drains: a consistent copy of the published snapshot, and one value per slot out
// of its shards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "maps/layout/layout.hpp"

namespace egpu::maps {

/// Where a double-buffered snapshot lies. The writer fills the buffer that `index` doesn't name (sequence[i] odd
/// meanwhile), then sets `index`; so the last whole snapshot outlives a writer that dies half way.
struct Published {
    const std::uint32_t* index = nullptr;     ///< 0 or 1
    const std::uint32_t* slots = nullptr;     ///< [2]
    const std::uint64_t* sequence = nullptr;  ///< [2]
    const std::uint64_t* taken_ns = nullptr;  ///< [2], CLOCK_MONOTONIC; 0: nothing yet
    std::span<const std::byte> data[2];
};

struct Snapshot {
    std::vector<std::byte> bytes;  ///< snapshot_bytes(slots) of the map's layout
    std::uint32_t slots = 0;
    std::uint64_t taken_ns = 0;
};

enum class CopyResult {
    copied,
    none_yet,  ///< nothing was drained so far
    busy,      ///< the writer was faster at each try; try again later
};

/// Copies the current snapshot. Words of 8 bytes are whole; a value of several words may mix two moments of a running
/// kernel, as one DMA does (DESIGN 7). Never reads outside `data`, whatever the counts say.
CopyResult copy_published(const Published& published, const Layout& layout, Snapshot* snapshot);

/// A field of a value that is summed over shards: an unsigned number of 4 or 8 bytes at a byte offset.
struct FieldRange {
    std::uint32_t offset = 0;
    std::uint32_t size = 0;
};

/// The merged value of one slot of a whole snapshot into `out` (value_bytes). Without `fields` the value is taken as
/// 8-byte words, which needs a size that is a multiple of 8. With fields, bytes that none covers come from shard 0
/// (padding). A map with one shard is copied as it is. False where slot, fields or sizes don't fit; `out` is then
/// untouched.
[[nodiscard]] bool merge_slot(std::span<const std::byte> snapshot, const Layout& layout, std::uint32_t slot,
                              std::span<const FieldRange> fields, std::span<std::byte> out);

}  // namespace egpu::maps
