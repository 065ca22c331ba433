// SPDX-License-Identifier: Apache-2.0
// View: a mapped segment whose geometry was checked once and copied out. What another process writes into the segment
// afterwards can make numbers wrong, never an address: every span below lies inside the mapping for good.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "maps/layout/layout.hpp"
#include "segment/layout/layout.h"

namespace egpu::segment {

enum class AccessError : std::uint32_t {
    none,
    not_found,      ///< no shared memory object of that name
    no_permission,  ///< of another user
    map_failed,
    too_short,      ///< the file is shorter than it says
    not_a_segment,  ///< no magic: not one of ours, or not laid out yet
    other_layout,   ///< of another layout version
    other_build,    ///< of another build of egpu
    corrupt,        ///< an offset, size or count that can't be
};

/// What it means, for a person: "is of another build of egpu".
std::string_view to_text(AccessError error);

/// The H fields of an egpu_map_entry as they were when the segment was opened.
struct MapGeometry {
    std::uint32_t value_bytes = 0;
    std::uint32_t stride = 0;
    std::uint32_t capacity = 0;
    std::uint32_t shards = 1;
    std::uint32_t key_bytes = 0;
    bool is_array = false;
    std::uint64_t keys = 0;  ///< offsets in the segment
    std::uint64_t snapshot[2] = {};
    bool adds_up = false;
    std::uint64_t narrow_words = 0;
    std::uint64_t ring_bytes = 0;  ///< of a ring buffer
    maps::Layout layout() const { return {value_bytes, stride, capacity, shards}; }
    /// Of each of its snapshots at most.
    std::uint64_t snapshot_bytes() const { return layout().snapshot_bytes(capacity); }
};

/// Geometry of a ring: its control words and its bytes.
struct RingView {
    egpu_ring* control = nullptr;
    std::span<std::byte> data;
};

/// Records of a ring buffer on their way to the egpu process.
struct RecordRingView {
    egpu_record_ring* control = nullptr;
    std::span<std::byte> data;
};

class View {
public:
    View() = default;

    /// Checks a mapping of `bytes` bytes at `base` and fills *view. Nothing is written. `build_id` 0: any build
    /// (for listing sessions).
    static AccessError open(void* base, std::size_t bytes, std::uint64_t build_id, View* view);

    explicit operator bool() const { return base_ != nullptr; }
    egpu_segment_header& header() const { return *reinterpret_cast<egpu_segment_header*>(base_); }
    std::span<egpu_kernel_counters> kernels() const;
    std::span<egpu_copy_counters> copies() const;
    /// Empty where the session measures no overhead.
    std::span<egpu_copy_times> copy_times() const;
    /// Maps that were checked: those of the start, and what refresh() added.
    std::uint32_t map_count() const { return __atomic_load_n(&map_count_, __ATOMIC_ACQUIRE); }
    /// Takes in maps that the egpu process has added since; one that makes no sense ends the taking. One thread at a
    /// time; others may read meanwhile, and see a map once it is whole.
    void refresh();

    /// Of map `index` < map_count().
    const MapGeometry& geometry(std::uint32_t index) const { return maps_[index]; }
    egpu_map_entry& map(std::uint32_t index) const;
    /// Its name, at most 63 characters whatever the segment says.
    std::string_view map_name(std::uint32_t index) const;
    std::span<std::byte> keys(std::uint32_t index) const;
    std::span<std::byte> snapshot(std::uint32_t index, std::uint32_t which) const;
    /// Of a map with ring_bytes.
    RecordRingView record_ring(std::uint32_t index) const;
    /// Slots in use: as published, at most the capacity. Arrays: the capacity.
    std::uint32_t used_slots(std::uint32_t index) const;

    RingView to_host() const { return {&header().to_host, at(to_host_)}; }
    RingView to_agent() const { return {&header().to_agent, at(to_agent_)}; }
    RingView commands() const { return {&header().commands, at(commands_)}; }
    std::span<std::byte> reserve() const { return at(reserve_); }
    std::span<std::byte> catalogue(std::uint32_t which) const { return at(catalogue_[which & 1]); }

private:
    AccessError check_header(const egpu_segment_header& header, std::uint64_t build_id);
    bool check_map(std::uint32_t index);
    bool inside(const egpu_extent& extent, std::uint64_t wanted_bytes) const;
    std::span<std::byte> at(const egpu_extent& extent) const { return {base_ + extent.offset, extent.bytes}; }

    std::byte* base_ = nullptr;
    std::uint64_t bytes_ = 0;
    std::uint32_t kernel_capacity_ = 0;
    std::uint32_t map_count_ = 0;
    egpu_extent kernels_{}, copies_{}, copy_times_{}, map_entries_{}, to_host_{}, to_agent_{}, commands_{};
    egpu_extent catalogue_[2] = {}, reserve_{};
    MapGeometry maps_[EGPU_SEGMENT_MAX_MAPS];
};

}  // namespace egpu::segment
