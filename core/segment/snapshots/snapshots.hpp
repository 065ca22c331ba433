// SPDX-License-Identifier: Apache-2.0
// A map of a segment as a reader wants it: layout, current snapshot, keys.
#pragma once

#include <cstdint>
#include <span>

#include "maps/layout/layout.hpp"
#include "maps/snapshot/snapshot.hpp"
#include "segment/access/view.hpp"

namespace egpu::segment {

/// The layout that the egpu process chose for map `index` < view.map_count().
maps::Layout layout_of(const View& view, std::uint32_t index);

/// Copies the current snapshot of map `index`.
maps::CopyResult copy_snapshot(const View& view, std::uint32_t index, maps::Snapshot* snapshot);

/// The key of a slot < used_slots (hash maps); empty for arrays, whose key is the slot's number.
std::span<const std::byte> key_of(const View& view, std::uint32_t index, std::uint32_t slot);

}  // namespace egpu::segment
