// SPDX-License-Identifier: Apache-2.0
#include "segment/create/geometry.hpp"

#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "segment/access/process.hpp"
#include "segment/access/shared.hpp"
#include "segment/layout/build_id.h"

namespace egpu::segment {

namespace {

constexpr std::uint64_t kCacheLine = 64;
constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kLargestSegment = std::uint64_t{1} << 36;

// Hands out extents one behind the other.
class Cursor {
public:
    explicit Cursor(std::uint64_t at) : at_(at) {}
    egpu_extent take(std::uint64_t bytes, std::uint64_t alignment) {
        at_ = (at_ + alignment - 1) / alignment * alignment;
        const egpu_extent extent{at_, bytes};
        at_ += bytes;
        return extent;
    }
    std::uint64_t at() const { return at_; }

private:
    std::uint64_t at_;
};

std::uint32_t stride_of(const MapDescription& map) {
    return (map.value_bytes + 7) & ~7u;
}

std::uint64_t data_bytes(const MapDescription& map) {
    return std::uint64_t{stride_of(map)} * map.capacity * map.shards;
}

MapPlace place_map(const MapDescription& map, Cursor& cursor) {
    MapPlace place;
    place.keys = cursor.take(map.is_array ? 0 : std::uint64_t{map.key_bytes} * map.capacity, kCacheLine);
    place.snapshot[0] = cursor.take(data_bytes(map), kPage);
    place.snapshot[1] = map.ring_bytes != 0 ? place.snapshot[0] : cursor.take(data_bytes(map), kPage);
    return place;
}

Diagnostic refused(std::string message) {
    return error("EGPU-X012", std::move(message));
}

std::uint64_t realtime_ns() {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace

Status check_map(const MapDescription& map) {
    if (map.value_bytes == 0 || map.value_bytes > (1u << 20))
        return refused(fmt::format("map {}: a value of {} bytes; 1 to 1 MiB fit", map.name, map.value_bytes));
    if (map.capacity == 0 || map.capacity > (1u << 26))
        return refused(fmt::format("map {}: {} entries; 1 to 67 108 864 fit", map.name, map.capacity));
    if (map.shards == 0 || map.shards > 4096)
        return refused(fmt::format("map {}: {} shards; 1 to 4096 fit", map.name, map.shards));
    if (!map.is_array && (map.key_bytes == 0 || map.key_bytes > 512))
        return refused(fmt::format("map {}: a key of {} bytes; 1 to 512 fit", map.name, map.key_bytes));
    if (map.initial.size() > map.value_bytes || (!map.initial.empty() && (map.shards != 1 || map.adds_up)))
        return refused(fmt::format("map {}: a first value of {} bytes for a map that can't have it", map.name,
                                   map.initial.size()));
    return ok();
}

Status check_request(const SegmentRequest& request) {
    if (request.maps.size() > EGPU_SEGMENT_MAX_MAPS)
        return refused(fmt::format("{} maps in one session; {} fit", request.maps.size(), EGPU_SEGMENT_MAX_MAPS));
    if (request.kernel_capacity > EGPU_SEGMENT_MAX_KERNELS)
        return refused(
            fmt::format("{} kernels in one session; {} fit", request.kernel_capacity, EGPU_SEGMENT_MAX_KERNELS));
    if (request.ring_bytes < kPage || request.ring_bytes % kPage != 0 || request.ring_bytes > kLargestSegment)
        return refused(fmt::format("a ring of {} bytes; multiples of {} fit", request.ring_bytes, kPage));
    if (request.commands_bytes < kPage || request.commands_bytes % kPage != 0 ||
        request.commands_bytes > kLargestSegment)
        return refused(fmt::format("a ring of {} bytes; multiples of {} fit", request.commands_bytes, kPage));
    if (request.copy_capacity > EGPU_SEGMENT_MAX_COPIES)
        return refused(fmt::format("{} copies; up to {} fit", request.copy_capacity, EGPU_SEGMENT_MAX_COPIES));
    if (request.reserve_bytes > kLargestSegment)
        return refused("a reserve of over 64 GiB");
    if (request.catalogue_bytes > kLargestSegment)
        return refused("a catalogue of over 64 GiB");
    std::uint64_t total = 0;
    for (const MapDescription& map : request.maps) {
        if (Status sound = check_map(map); !sound)
            return sound;
        // At most 2^20 * 2^26 * 2^12 = 2^58 a map: the sum can't wrap before it is over the limit.
        total += data_bytes(map);
        if (total > kLargestSegment)
            return refused(fmt::format("map {}: the session's maps take over 64 GiB", map.name));
    }
    return ok();
}

Geometry geometry_of(const SegmentRequest& request) {
    Geometry geometry;
    Cursor cursor(sizeof(egpu_segment_header));
    geometry.kernels = cursor.take(sizeof(egpu_kernel_counters) * std::uint64_t{request.kernel_capacity}, kCacheLine);
    geometry.copies = cursor.take(sizeof(egpu_copy_counters) * std::uint64_t{request.copy_capacity}, kCacheLine);
    const std::uint64_t timed = request.time_launches || request.measure_overhead ? request.copy_capacity : 0;
    geometry.copy_times = cursor.take(sizeof(egpu_copy_times) * timed, kCacheLine);
    geometry.maps = cursor.take(sizeof(egpu_map_entry) * std::uint64_t{EGPU_SEGMENT_MAX_MAPS}, kCacheLine);
    for (const MapDescription& map : request.maps)
        geometry.map.push_back(place_map(map, cursor));
    geometry.to_host = cursor.take(request.ring_bytes, kPage);
    geometry.to_agent = cursor.take(request.ring_bytes, kPage);
    geometry.commands = cursor.take(request.commands_bytes, kPage);
    geometry.catalogue[0] = cursor.take(request.catalogue_bytes, kPage);
    geometry.catalogue[1] = cursor.take(request.catalogue_bytes, kPage);
    geometry.reserve = cursor.take(request.reserve_bytes, kPage);
    geometry.bytes = cursor.take(0, kPage).offset;
    return geometry;
}

MapPlace place_in_reserve(const MapDescription& map, const egpu_extent& reserve, std::uint64_t used,
                          std::uint64_t* end) {
    Cursor cursor(reserve.offset + used);
    const MapPlace place = place_map(map, cursor);
    *end = cursor.at() - reserve.offset;
    return place;
}

egpu_map_entry map_entry(std::byte* base, const MapDescription& map, const MapPlace& place) {
    egpu_map_entry entry{};
    std::memcpy(entry.name, map.name.data(), std::min(map.name.size(), sizeof(entry.name) - 1));
    entry.value_bytes = map.value_bytes;
    entry.stride = stride_of(map);
    entry.capacity = map.capacity;
    entry.shards = map.shards;
    entry.key_bytes = map.key_bytes;
    entry.is_array = map.is_array ? 1 : 0;
    entry.adds_up = map.adds_up ? 1 : 0;
    entry.narrow_words = map.narrow_words;
    entry.ring_bytes = map.ring_bytes;
    entry.used_slots = map.is_array ? map.capacity : 0;
    entry.keys = place.keys;
    entry.snapshot[0] = place.snapshot[0];
    entry.snapshot[1] = place.snapshot[1];
    if (!map.initial.empty()) {
        std::memcpy(base + place.snapshot[0].offset, map.initial.data(), map.initial.size());
        entry.snapshot_slots[0] = 1;
        entry.snapshot_ns[0] = monotonic_ns();
    }
    return entry;
}

void lay_out(std::byte* base, const SegmentRequest& request, const Geometry& geometry) {
    auto& header = *reinterpret_cast<egpu_segment_header*>(base);
    const auto pid = static_cast<std::uint32_t>(::getpid());
    header.layout_version = EGPU_SEGMENT_LAYOUT;
    header.header_bytes = sizeof(egpu_segment_header);
    header.build_id = egpu_segment_build_id();
    header.bytes = geometry.bytes;
    header.session_id = pid;
    header.host_pid = pid;
    header.host_start_time = process_start_time(pid);
    header.started_ns = realtime_ns();
    header.host_heartbeat_ns = monotonic_ns();
    header.enabled = 1;
    header.drain_interval_us = request.drain_interval_us;
    header.wait_ms = request.wait_ms;
    header.gpu_memory_limit = request.gpu_memory_limit;
    header.kernel_capacity = request.kernel_capacity;
    header.map_count = static_cast<std::uint32_t>(request.maps.size());
    header.kernels = geometry.kernels;
    header.maps = geometry.maps;
    header.to_host.data = geometry.to_host;
    header.to_agent.data = geometry.to_agent;
    header.commands.data = geometry.commands;
    header.copies = geometry.copies;
    header.copy_times = geometry.copy_times;
    header.reserve = geometry.reserve;
    header.sample_launches = request.sample_launches;
    header.takes_turns = request.sample_launches > 1 || request.launch_skip != 0 || request.launch_count != 0 ? 1 : 0;
    // The agent counts turns in 32 bits; a window beyond them is one without an end.
    header.launch_skip = static_cast<std::uint32_t>(std::min<std::uint64_t>(request.launch_skip, UINT32_MAX));
    header.launch_count =
        request.launch_skip + request.launch_count <= UINT32_MAX ? static_cast<std::uint32_t>(request.launch_count) : 0;
    header.measure_overhead = request.measure_overhead ? 1 : 0;
    header.time_launches = request.time_launches || request.measure_overhead ? 1 : 0;
    header.catalogue[0] = geometry.catalogue[0];
    header.catalogue[1] = geometry.catalogue[1];
    auto* entries = reinterpret_cast<egpu_map_entry*>(base + geometry.maps.offset);
    for (std::size_t i = 0; i < request.maps.size(); ++i)
        entries[i] = map_entry(base, request.maps[i], geometry.map[i]);
    store_release(header.magic, std::uint64_t{EGPU_SEGMENT_MAGIC});
}

}  // namespace egpu::segment
