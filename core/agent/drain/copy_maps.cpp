// SPDX-License-Identifier: Apache-2.0
#include "agent/drain/copy_maps.hpp"

#include <cstdio>

#include "agent/driver/driver.hpp"
#include "agent/kernels/inventory.hpp"
#include "agent/maps/contents.hpp"
#include "agent/maps/device_maps.hpp"
#include "agent/maps/grids.hpp"
#include "agent/maps/records.hpp"
#include "agent/maps/shards.hpp"
#include "agent/maps/staging.hpp"
#include "agent/session/session.hpp"
#include "segment/access/shared.hpp"
#include "segment/access/snapshot_writer.hpp"

namespace egpu::agent {

namespace {

// Instrumented launches of each kernel at the last good drain: what was launched since may be at fault.
constinit std::uint64_t launches_then[EGPU_SEGMENT_MAX_KERNELS] = {};

// From a place's memory into `to`.
CUresult fetch_map(const Place& place, std::uint32_t map, std::span<std::byte> to) {
    if (to.empty())
        return CUDA_SUCCESS;
    const CUresult result = driver().cuCtxSetCurrent(place.context);
    if (result != CUDA_SUCCESS)
        return result;
    return fetch_through(place, to, [&](std::byte* through) {
        return copy_from_shards(driver(), allocated_map(place, map), view().geometry(map).layout(),
                                {through, to.size()}, place.stream);
    });
}

std::uint32_t places_with(std::uint32_t map) {
    std::uint32_t places = 0;
    for (unsigned int i = 0; i < places_used(); ++i)
        if (is_equipped(place_at(i)) && allocated_map(place_at(i), map) != 0)
            places |= 1u << i;
    return places;
}

// What all places have of the map, and what those had that ended.
CUresult sum_up(std::uint32_t map, std::uint32_t places, std::uint32_t slots, std::span<std::byte> to) {
    begin_sum(map, to);
    for (unsigned int i = 0; i < kMostPlaces; ++i) {
        if ((places >> i & 1) == 0)
            continue;
        const std::span<std::byte> part = last_part(map, place_at(i), slots);
        if (part.size() != to.size())
            return CUDA_ERROR_OUT_OF_MEMORY;
        const CUresult result = fetch_map(place_at(i), map, part);
        if (result != CUDA_SUCCESS)
            return result;
        add_part(map, part, to);
    }
    return CUDA_SUCCESS;
}

bool is_one(std::uint32_t places) {
    return (places & (places - 1)) == 0;
}

CUresult copy_map(std::uint32_t map, std::uint32_t places) {
    const std::uint32_t slots = view().used_slots(map);
    const segment::SnapshotWriter writer = segment::begin_snapshot(view(), map);
    const std::span<std::byte> to = writer.data.first(view().geometry(map).layout().snapshot_bytes(slots));
    const CUresult result = is_one(places) && !has_parts(map)
                                ? fetch_map(place_at(static_cast<unsigned int>(__builtin_ctz(places))), map, to)
                                : sum_up(map, places, slots, to);
    if (result != CUDA_SUCCESS) {
        segment::abandon_snapshot(writer);
        return result;
    }
    segment::publish_snapshot(writer, slots, segment::monotonic_ns());
    snapshot_holds(map, places);
    return CUDA_SUCCESS;
}

void remember_launches() {
    const auto kernels = view().kernels().first(highest_kernel_id());
    for (std::size_t i = 0; i < kernels.size(); ++i)
        launches_then[i] = segment::load_relaxed(kernels[i].launches_instrumented);
}

}  // namespace

CUresult copy_all_maps(bool last) {
    egpu_segment_header& header = view().header();
    bool copied = false;
    for (std::uint32_t i = 0; i < view().map_count(); ++i) {
        const std::uint32_t places = places_with(i);
        if (places == 0)
            continue;
        const bool is_ring = view().geometry(i).ring_bytes != 0;
        const CUresult result = is_ring ? take_records(i, places, last) : copy_map(i, places);
        if (result != CUDA_SUCCESS)
            return result;
        copied = true;
    }
    if (const CUresult result = count_lost_grids(); result != CUDA_SUCCESS)
        return result;
    if (copied) {
        segment::store_relaxed(header.last_drain_ns, segment::monotonic_ns());
        segment::add_relaxed(header.drains, std::uint64_t{1});
        remember_launches();
    }
    return CUDA_SUCCESS;
}

void report_lost_device(CUresult error) {
    const auto kernels = view().kernels().first(highest_kernel_id());
    unsigned int copies = 0;
    for (std::size_t i = 0; i < kernels.size(); ++i)
        copies += segment::load_relaxed(kernels[i].launches_instrumented) != launches_then[i] ? 1 : 0;
    const char* name = nullptr;
    if (driver().cuGetErrorName == nullptr || driver().cuGetErrorName(error, &name) != CUDA_SUCCESS || name == nullptr)
        name = "an unknown error";
    char text[200];
    std::snprintf(text, sizeof(text),
                  "the device was lost with %s (%d); instrumented copies launched since the last copy of the maps: %u",
                  name, static_cast<int>(error), copies);
    report_error(static_cast<std::uint32_t>(error), text);
}

}  // namespace egpu::agent
