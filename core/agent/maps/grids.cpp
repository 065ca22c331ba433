// SPDX-License-Identifier: Apache-2.0
#include "agent/maps/grids.hpp"

#include <span>

#include "agent/driver/driver.hpp"
#include "agent/maps/device_maps.hpp"
#include "agent/maps/staging.hpp"
#include "agent/session/session.hpp"
#include "segment/access/shared.hpp"

namespace egpu::agent {

namespace {

constinit std::uint64_t lost_at[kMostPlaces] = {};  // of each place, at the last drain
constinit std::uint64_t lost_before = 0;            // of places that ended

void publish() {
    std::uint64_t lost = lost_before;
    for (const std::uint64_t one : lost_at)
        lost += one;
    constexpr std::uint64_t kMost = UINT32_MAX;
    segment::store_relaxed(view().header().launches_not_followed,
                           static_cast<std::uint32_t>(lost < kMost ? lost : kMost));
}

CUdeviceptr grids_of(const Place& place) {
    return __atomic_load_n(&place.grids, __ATOMIC_ACQUIRE);
}

}  // namespace

CUdeviceptr grids_memory(Place* place, std::uint64_t bytes) {
    if (grids_of(*place) != 0)
        return bytes == place->grids_bytes ? place->grids : 0;
    const Driver& real = driver();
    CUdeviceptr address = 0;
    if (place->grids_refused || bytes < sizeof(std::uint64_t) || !fits_limit(*place, bytes) ||
        real.cuMemAlloc_v2 == nullptr || real.cuMemAlloc_v2(&address, bytes) != CUDA_SUCCESS)
        return 0;
    // Waited for, as a map is. Where that fails the memory stays, since freeing it could stall the application: once is
    // enough.
    place->grids_refused = real.cuMemsetD8Async(address, 0, bytes, place->stream) != CUDA_SUCCESS ||
                           real.cuStreamSynchronize(place->stream) != CUDA_SUCCESS;
    if (place->grids_refused)
        return 0;
    place->grids_bytes = bytes;
    __atomic_store_n(&place->grids, address, __ATOMIC_RELEASE);
    book_memory();
    return address;
}

CUresult count_lost_grids() {
    bool read = false;
    for (unsigned int i = 0; i < places_used(); ++i) {
        const Place& place = place_at(i);
        const CUdeviceptr from = is_equipped(place) ? grids_of(place) : 0;
        if (from == 0)
            continue;
        std::uint64_t lost = 0;
        CUresult result = driver().cuCtxSetCurrent(place.context);
        if (result == CUDA_SUCCESS)
            result = fetch(place, from, std::as_writable_bytes(std::span(&lost, 1)));
        if (result != CUDA_SUCCESS)
            return result;
        lost_at[i] = lost;
        read = true;
    }
    if (read)
        publish();
    return CUDA_SUCCESS;
}

void forget_grids(Place* place) {
    __atomic_store_n(&place->grids, CUdeviceptr{0}, __ATOMIC_RELEASE);
    place->grids_bytes = 0;
    place->grids_refused = false;
    lost_before += lost_at[index_of(*place)];
    lost_at[index_of(*place)] = 0;
}

}  // namespace egpu::agent
