// SPDX-License-Identifier: Apache-2.0
// The one check of a segment's geometry. Each word is copied first and checked in the copy, so a writer that changes
// it in between gains nothing.
#include "segment/access/view.hpp"

#include <bit>
#include <cstring>

#include "maps/layout/ring_buffer.hpp"
#include "segment/access/shared.hpp"

namespace egpu::segment {

namespace {

constexpr std::uint32_t kLargestValue = 1u << 20;  // bytes; a value is a struct of an eBPF program
constexpr std::uint32_t kLargestKey = 512;         // bytes: MAX_BPF_STACK, where keys are made
constexpr std::uint32_t kLargestCapacity = 1u << 26;
constexpr std::uint32_t kMostShards = 4096;  // one an SM; no GPU has as many
constexpr std::uint64_t kSmallestRing = 4096;

/// As maps::RingBuffer lays one out.
bool is_ring(const MapGeometry& map) {
    using maps::RingBuffer;
    return map.is_array && map.shards == 1 && map.stride == RingBuffer::kUnit && std::has_single_bit(map.ring_bytes) &&
           map.ring_bytes >= RingBuffer::kLeastBytes && map.ring_bytes / RingBuffer::kUnit + 1 == map.capacity;
}

bool plausible(const MapGeometry& map) {
    if (map.value_bytes == 0 || map.value_bytes > kLargestValue || map.stride != ((map.value_bytes + 7) & ~7u))
        return false;
    if (map.capacity == 0 || map.capacity > kLargestCapacity || map.shards == 0 || map.shards > kMostShards)
        return false;
    if (map.ring_bytes != 0 && !is_ring(map))
        return false;
    return map.is_array || (map.key_bytes != 0 && map.key_bytes <= kLargestKey);
}

}  // namespace

std::string_view to_text(AccessError error) {
    switch (error) {
        case AccessError::none:
            return "is sound";
        case AccessError::not_found:
            return "does not exist";
        case AccessError::no_permission:
            return "belongs to another user";
        case AccessError::map_failed:
            return "can't be mapped";
        case AccessError::too_short:
            return "is shorter than it says";
        case AccessError::not_a_segment:
            return "is not a segment of egpu";
        case AccessError::other_layout:
            return "has another layout version";
        case AccessError::other_build:
            return "is of another build of egpu";
        case AccessError::corrupt:
            return "is damaged";
    }
    return "is damaged";
}

bool View::inside(const egpu_extent& extent, std::uint64_t wanted_bytes) const {
    if (extent.offset % 8 != 0 || extent.bytes < wanted_bytes || extent.offset > bytes_)
        return false;
    if (extent.offset < sizeof(egpu_segment_header) && extent.bytes != 0)
        return false;
    return extent.bytes <= bytes_ - extent.offset;
}

AccessError View::check_header(const egpu_segment_header& header, std::uint64_t build_id) {
    if (load_acquire(header.magic) != EGPU_SEGMENT_MAGIC)
        return AccessError::not_a_segment;
    if (header.layout_version != EGPU_SEGMENT_LAYOUT || header.header_bytes != sizeof(egpu_segment_header))
        return AccessError::other_layout;
    if (build_id != 0 && header.build_id != build_id)
        return AccessError::other_build;
    const std::uint64_t said = header.bytes;
    if (said > bytes_)
        return AccessError::too_short;
    bytes_ = said;  // a longer file is no harm: what lies behind is never looked at
    kernel_capacity_ = header.kernel_capacity;
    map_count_ = load_acquire(header.map_count);
    kernels_ = header.kernels;
    map_entries_ = header.maps;
    to_host_ = header.to_host.data;
    to_agent_ = header.to_agent.data;
    commands_ = header.commands.data;
    copies_ = header.copies;
    copy_times_ = header.copy_times;
    reserve_ = header.reserve;
    catalogue_[0] = header.catalogue[0];
    catalogue_[1] = header.catalogue[1];
    if (kernel_capacity_ > EGPU_SEGMENT_MAX_KERNELS || map_count_ > EGPU_SEGMENT_MAX_MAPS)
        return AccessError::corrupt;
    const bool sound = inside(kernels_, sizeof(egpu_kernel_counters) * std::uint64_t{kernel_capacity_}) &&
                       inside(map_entries_, sizeof(egpu_map_entry) * std::uint64_t{map_count_}) && inside(copies_, 0) &&
                       inside(copy_times_, 0) && inside(reserve_, 0) && inside(commands_, kSmallestRing) &&
                       commands_.bytes % 8 == 0 && inside(to_host_, kSmallestRing) && to_host_.bytes % 8 == 0 &&
                       inside(to_agent_, kSmallestRing) && to_agent_.bytes % 8 == 0 && inside(catalogue_[0], 0) &&
                       inside(catalogue_[1], 0);
    return sound ? AccessError::none : AccessError::corrupt;
}

bool View::check_map(std::uint32_t index) {
    egpu_map_entry entry;
    std::memcpy(&entry, base_ + map_entries_.offset + sizeof(entry) * index, sizeof(entry));
    MapGeometry& map = maps_[index];
    map = {entry.value_bytes,  entry.stride,
           entry.capacity,     entry.shards,
           entry.key_bytes,    entry.is_array != 0,
           entry.keys.offset,  {entry.snapshot[0].offset, entry.snapshot[1].offset},
           entry.adds_up != 0, entry.narrow_words,
           entry.ring_bytes};
    if (!plausible(map))
        return false;
    const std::uint64_t key_bytes = map.is_array ? 0 : std::uint64_t{map.key_bytes} * map.capacity;
    return inside(entry.keys, key_bytes) && inside(entry.snapshot[0], map.snapshot_bytes()) &&
           inside(entry.snapshot[1], map.snapshot_bytes());
}

void View::refresh() {
    const std::uint32_t published = load_acquire(header().map_count);
    std::uint32_t known = map_count_;
    while (known < published && known < EGPU_SEGMENT_MAX_MAPS &&
           inside(map_entries_, sizeof(egpu_map_entry) * (std::uint64_t{known} + 1)) && check_map(known))
        store_release(map_count_, ++known);
}

AccessError View::open(void* base, std::size_t bytes, std::uint64_t build_id, View* view) {
    *view = View();
    if (base == nullptr || bytes < sizeof(egpu_segment_header))
        return AccessError::too_short;
    view->base_ = static_cast<std::byte*>(base);
    view->bytes_ = bytes;
    const auto& header = *static_cast<const egpu_segment_header*>(base);
    AccessError error = view->check_header(header, build_id);
    for (std::uint32_t i = 0; error == AccessError::none && i < view->map_count_; ++i)
        if (!view->check_map(i))
            error = AccessError::corrupt;
    if (error != AccessError::none)
        *view = View();
    return error;
}

std::span<egpu_kernel_counters> View::kernels() const {
    return {reinterpret_cast<egpu_kernel_counters*>(base_ + kernels_.offset), kernel_capacity_};
}

std::span<egpu_copy_counters> View::copies() const {
    return {reinterpret_cast<egpu_copy_counters*>(base_ + copies_.offset), copies_.bytes / sizeof(egpu_copy_counters)};
}

std::span<egpu_copy_times> View::copy_times() const {
    return {reinterpret_cast<egpu_copy_times*>(base_ + copy_times_.offset),
            copy_times_.bytes / sizeof(egpu_copy_times)};
}

egpu_map_entry& View::map(std::uint32_t index) const {
    return reinterpret_cast<egpu_map_entry*>(base_ + map_entries_.offset)[index];
}

std::string_view View::map_name(std::uint32_t index) const {
    const char* name = map(index).name;
    return {name, strnlen(name, sizeof(egpu_map_entry::name) - 1)};
}

std::span<std::byte> View::keys(std::uint32_t index) const {
    const MapGeometry& map = maps_[index];
    return {base_ + map.keys, map.is_array ? 0 : std::size_t{map.key_bytes} * map.capacity};
}

std::span<std::byte> View::snapshot(std::uint32_t index, std::uint32_t which) const {
    return {base_ + maps_[index].snapshot[which & 1], maps_[index].snapshot_bytes()};
}

RecordRingView View::record_ring(std::uint32_t index) const {
    const MapGeometry& map = maps_[index];
    std::byte* data = base_ + map.snapshot[0];
    return {reinterpret_cast<egpu_record_ring*>(data + map.ring_bytes), {data, map.ring_bytes}};
}

std::uint32_t View::used_slots(std::uint32_t index) const {
    const MapGeometry& map = maps_[index];
    if (map.is_array)
        return map.capacity;
    const std::uint32_t published = load_acquire(this->map(index).used_slots);
    return published < map.capacity ? published : map.capacity;
}

}  // namespace egpu::segment
