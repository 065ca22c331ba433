// SPDX-License-Identifier: Apache-2.0
// Nothing here is ever freed while the context lives: cuMemFree would stall the application, and a copy may still
// write.
#include "agent/maps/device_maps.hpp"

#include "agent/driver/driver.hpp"
#include "agent/maps/grids.hpp"
#include "agent/maps/records.hpp"
#include "agent/maps/shards.hpp"
#include "agent/session/session.hpp"
#include "maps/layout/ring_buffer.hpp"
#include "segment/access/shared.hpp"

namespace egpu::agent {

namespace {

std::uint64_t allocated_in(const Place& place) {
    std::uint64_t bytes = place.grids_bytes;
    for (std::uint32_t map = 0; map < view().map_count(); ++map)
        if (allocated_map(place, map) != 0)
            bytes += view().geometry(map).layout().device_bytes();
    return bytes;
}

std::uint64_t allocated_on(CUdevice device) {
    std::uint64_t bytes = 0;
    for (unsigned int i = 0; i < places_used(); ++i)
        if (place_at(i).device == device)
            bytes += allocated_in(place_at(i));
    return bytes;
}

/// A ring buffer is taken out a chunk at a time.
std::uint64_t copied_at_once(const segment::MapGeometry& map) {
    if (map.ring_bytes == 0)
        return map.snapshot_bytes();
    return map.ring_bytes / maps::RingBuffer::kChunks;
}

CUdeviceptr allocate(Place& place, std::uint32_t index, std::span<const std::byte> content) {
    const maps::Layout layout = view().geometry(index).layout();
    const std::uint64_t bytes = layout.device_bytes();
    if ((place.refused >> index & 1) != 0 || !fits_limit(place, bytes) || content.size() > bytes)
        return 0;
    CUdeviceptr address = 0;
    const Driver& real = driver();
    if (real.cuMemAlloc_v2 == nullptr || real.cuMemAlloc_v2(&address, bytes) != CUDA_SUCCESS)
        return 0;
    // On our own stream and waited for: a launch on a non-blocking stream must not overtake it.
    CUresult result = real.cuMemsetD8Async(address, 0, bytes, place.stream);
    if (result == CUDA_SUCCESS && !content.empty())
        result = copy_to_shards(real, address, layout, content, place.stream);
    if (result == CUDA_SUCCESS)
        result = real.cuStreamSynchronize(place.stream);
    if (result == CUDA_SUCCESS)
        return address;
    // Freeing it could stall the application: once is enough.
    place.refused |= std::uint64_t{1} << index;
    return 0;
}

}  // namespace

bool fits_limit(const Place& place, std::uint64_t bytes) {
    const std::uint64_t limit = segment::load_relaxed(view().header().gpu_memory_limit);
    return bytes <= limit && allocated_on(place.device) <= limit - bytes;
}

void book_memory() {
    std::uint64_t bytes = 0;
    for (unsigned int i = 0; i < places_used(); ++i)
        bytes += allocated_in(place_at(i));
    const auto kib = static_cast<std::uint32_t>((bytes + 1023) >> 10);
    segment::store_relaxed(view().header().gpu_memory_kib, kib);
    segment::raise(view().header().gpu_memory_most_kib, kib);
}

std::uint64_t largest_map() {
    std::uint64_t largest = view().reserve().size() / 2;  // of a map that is added later: it lies there twice
    for (std::uint32_t i = 0; i < view().map_count(); ++i)
        if (const std::uint64_t bytes = copied_at_once(view().geometry(i)); bytes > largest)
            largest = bytes;
    return largest;
}

CUdeviceptr map_memory(Place* place, std::uint32_t index, std::span<const std::byte> content) {
    if (index >= view().map_count())
        return 0;
    if (allocated_map(*place, index) == 0) {
        const CUdeviceptr address = allocate(*place, index, content);
        __atomic_store_n(&place->memory[index], address, __ATOMIC_RELEASE);
        book_memory();
    }
    return allocated_map(*place, index);
}

CUdeviceptr allocated_map(const Place& place, std::uint32_t index) {
    return __atomic_load_n(&place.memory[index], __ATOMIC_ACQUIRE);
}

void forget_memory(Place* place) {
    for (CUdeviceptr& address : place->memory)
        __atomic_store_n(&address, CUdeviceptr{0}, __ATOMIC_RELEASE);
    place->refused = 0;
    forget_grids(place);
    forget_records(*place);
    book_memory();
}

}  // namespace egpu::agent
