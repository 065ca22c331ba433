// SPDX-License-Identifier: Apache-2.0
#include "segment/snapshots/snapshots.hpp"

namespace egpu::segment {

maps::Layout layout_of(const View& view, std::uint32_t index) {
    return view.geometry(index).layout();
}

maps::CopyResult copy_snapshot(const View& view, std::uint32_t index, maps::Snapshot* snapshot) {
    const egpu_map_entry& entry = view.map(index);
    const maps::Published published{&entry.snapshot_index,
                                    entry.snapshot_slots,
                                    entry.snapshot_sequence,
                                    entry.snapshot_ns,
                                    {view.snapshot(index, 0), view.snapshot(index, 1)}};
    return maps::copy_published(published, layout_of(view, index), snapshot);
}

std::span<const std::byte> key_of(const View& view, std::uint32_t index, std::uint32_t slot) {
    const MapGeometry& geometry = view.geometry(index);
    if (geometry.is_array || slot >= geometry.capacity)
        return {};
    return view.keys(index).subspan(std::size_t{geometry.key_bytes} * slot, geometry.key_bytes);
}

}  // namespace egpu::segment
