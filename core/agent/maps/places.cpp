// SPDX-License-Identifier: Apache-2.0
#include "agent/maps/places.hpp"

#include "agent/driver/driver.hpp"
#include "agent/maps/device_maps.hpp"
#include "agent/session/lock.hpp"
#include "agent/session/session.hpp"
#include "segment/access/shared.hpp"

namespace egpu::agent {

namespace {

constinit Place places[kMostPlaces];
constinit unsigned int used = 0;
constinit unsigned int living = 0;
constinit Mutex registering;  // held for moments, and only when a context is seen for the first time or the last

CUcontext context_of(const Place& place) {
    return __atomic_load_n(&place.context, __ATOMIC_ACQUIRE);
}

// Retaining an active primary context gives its handle and makes none.
bool is_primary(CUcontext context, CUdevice device) {
    const Driver& real = driver();
    unsigned int flags = 0;
    int active = 0;
    CUcontext handle = nullptr;
    if (real.cuDevicePrimaryCtxGetState == nullptr || real.cuDevicePrimaryCtxRelease_v2 == nullptr ||
        real.cuDevicePrimaryCtxGetState(device, &flags, &active) != CUDA_SUCCESS || active == 0 ||
        real.cuDevicePrimaryCtxRetain(&handle, device) != CUDA_SUCCESS)
        return false;
    real.cuDevicePrimaryCtxRelease_v2(device);
    return handle == context;
}

// A session that had its last copies taken counts on.
void session_goes_on() {
    egpu_segment_header& header = view().header();
    segment::store_relaxed(header.end_reason, std::uint32_t{EGPU_END_NONE});
    segment::replace_if(header.state, std::uint32_t{EGPU_SESSION_DRAINED}, std::uint32_t{EGPU_SESSION_RUNNING});
}

}  // namespace

Place* find_place(CUcontext context) {
    const unsigned int count = places_used();
    for (unsigned int i = 0; i < count && context != nullptr; ++i)
        if (context_of(places[i]) == context)
            return &places[i];
    return nullptr;
}

Place& place_at(unsigned int index) {
    return places[index];
}

unsigned int index_of(const Place& place) {
    return static_cast<unsigned int>(&place - places);
}

unsigned int places_used() {
    return __atomic_load_n(&used, __ATOMIC_ACQUIRE);
}

bool several_places() {
    return __atomic_load_n(&living, __ATOMIC_RELAXED) > 1;
}

namespace {

// Apart from the look-up, which is on the way of launches.
[[gnu::noinline]] Place* take_place(CUcontext context, CUdevice device, bool primary) {
    const Lock lock(registering);
    if (Place* known = find_place(context); known != nullptr)
        return known;
    for (Place& place : places) {
        if (context_of(place) != nullptr)
            continue;
        place.device = device;
        place.primary = primary;
        __atomic_store_n(&place.busy, std::uintptr_t{0}, __ATOMIC_RELAXED);
        __atomic_store_n(&place.context, context, __ATOMIC_RELEASE);
        if (index_of(place) >= used)
            __atomic_store_n(&used, index_of(place) + 1, __ATOMIC_RELEASE);
        __atomic_add_fetch(&living, 1, __ATOMIC_RELAXED);
        return &place;
    }
    return nullptr;
}

}  // namespace

Place* register_place(CUcontext context, CUdevice device, bool primary) {
    if (context == nullptr)
        return nullptr;
    Place* known = find_place(context);
    return known != nullptr ? known : take_place(context, device, primary);
}

Place* current_place() {
    CUcontext current = nullptr;
    if (driver().cuCtxGetCurrent == nullptr || driver().cuCtxGetCurrent(&current) != CUDA_SUCCESS)
        return nullptr;
    return register_place(current, -1, false);
}

Place* place_of(CUstream stream) {
    constexpr std::uintptr_t kLastDefaultStream = 2;  // CU_STREAM_PER_THREAD
    const auto ask = driver().cuStreamGetCtx;
    if (!several_places() || reinterpret_cast<std::uintptr_t>(stream) <= kLastDefaultStream || ask == nullptr)
        return current_place();
    CUcontext context = nullptr;
    return ask(stream, &context) == CUDA_SUCCESS ? register_place(context, -1, false) : nullptr;
}

bool equip(Place* place) {
    if (is_equipped(*place))
        return true;
    const Driver& real = driver();
    const bool told = place->device >= 0;
    if ((!told && real.cuCtxGetDevice(&place->device) != CUDA_SUCCESS) ||
        real.cuStreamCreate(&place->stream, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS)
        return false;
    if (!told)
        place->primary = is_primary(place->context, place->device);
    const std::uint64_t bytes = largest_map();
    if (bytes == 0 || real.cuMemHostAlloc == nullptr ||
        real.cuMemHostAlloc(&place->staging, bytes, CU_MEMHOSTALLOC_PORTABLE) != CUDA_SUCCESS)
        place->staging = nullptr;
    session_goes_on();
    __atomic_store_n(&place->equipped, true, __ATOMIC_RELEASE);
    return true;
}

bool any_equipped() {
    for (unsigned int i = 0; i < places_used(); ++i)
        if (context_of(places[i]) != nullptr && is_equipped(places[i]))
            return true;
    return false;
}

void forget_place(Place* place) {
    const Lock lock(registering);
    if (context_of(*place) == nullptr)
        return;
    __atomic_store_n(&place->equipped, false, __ATOMIC_RELEASE);
    __atomic_store_n(&place->context, static_cast<CUcontext>(nullptr), __ATOMIC_RELEASE);
    forget_memory(place);
    place->stream = nullptr;
    place->staging = nullptr;
    __atomic_sub_fetch(&living, 1, __ATOMIC_RELAXED);
}

}  // namespace egpu::agent
