// SPDX-License-Identifier: Apache-2.0
// The writing side of a map's double-buffered snapshot. Between begin and publish the published one stays whole, so a
// writer killed in between loses nothing.
#pragma once

#include "segment/access/shared.hpp"
#include "segment/access/view.hpp"

namespace egpu::segment {

struct SnapshotWriter {
    egpu_map_entry* entry = nullptr;
    std::uint32_t which = 0;
    std::span<std::byte> data;
};

/// Marks the buffer that is not published as being written.
inline SnapshotWriter begin_snapshot(const View& view, std::uint32_t map) {
    egpu_map_entry& entry = view.map(map);
    const std::uint32_t which = (load_acquire(entry.snapshot_index) & 1) ^ 1;
    const std::uint64_t sequence = load_relaxed(entry.snapshot_sequence[which]);
    store_relaxed(entry.snapshot_sequence[which], sequence | 1);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    return {&entry, which, view.snapshot(map, which)};
}

/// Makes it the current snapshot, with `slots` slots, taken at `now_ns`.
inline void publish_snapshot(const SnapshotWriter& writer, std::uint32_t slots, std::uint64_t now_ns) {
    egpu_map_entry& entry = *writer.entry;
    store_relaxed(entry.snapshot_slots[writer.which], slots);
    store_relaxed(entry.snapshot_ns[writer.which], now_ns);
    const std::uint64_t sequence = load_relaxed(entry.snapshot_sequence[writer.which]);
    store_release(entry.snapshot_sequence[writer.which], (sequence | 1) + 1);
    store_release(entry.snapshot_index, writer.which);
}

/// Leaves the buffer as not written; the published one stays current.
inline void abandon_snapshot(const SnapshotWriter& writer) {
    std::uint64_t& word = writer.entry->snapshot_sequence[writer.which];
    store_relaxed(writer.entry->snapshot_ns[writer.which], std::uint64_t{0});
    store_release(word, (load_relaxed(word) | 1) + 1);
}

}  // namespace egpu::segment
