// SPDX-License-Identifier: Apache-2.0
// Nothing here is ever freed while the context lives: cuMemFree would stall the application, and a copy may still
// write.
#include "agent/maps/device_maps.hpp"

#include "agent/driver/driver.hpp"
#include "agent/session/session.hpp"
#include "segment/access/shared.hpp"

namespace egpu::agent {

namespace {

constinit CUcontext home = nullptr;
constinit CUdevice device = 0;
constinit bool primary = false;
constinit bool adopted_once = false;
constinit CUstream stream = nullptr;
constinit void* staging_memory = nullptr;
constinit CUdeviceptr memory[EGPU_SEGMENT_MAX_MAPS] = {};
constinit std::uint64_t allocated_bytes = 0;

template <typename T>
T load(const T& word) {
    return __atomic_load_n(&word, __ATOMIC_ACQUIRE);
}
template <typename T>
void store(T& word, T value) {
    __atomic_store_n(&word, value, __ATOMIC_RELEASE);
}

std::uint64_t largest_map() {
    std::uint64_t largest = 0;
    for (std::uint32_t i = 0; i < view().map_count(); ++i)
        if (view().geometry(i).device_bytes() > largest)
            largest = view().geometry(i).device_bytes();
    return largest;
}

// Retaining an active primary context gives its handle and makes none.
bool is_primary(CUcontext context) {
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

CUdeviceptr allocate(std::uint32_t index) {
    const std::uint64_t bytes = view().geometry(index).device_bytes();
    egpu_segment_header& header = view().header();
    const std::uint64_t limit = segment::load_relaxed(header.gpu_memory_limit);
    if (bytes > limit || allocated_bytes > limit - bytes)
        return 0;
    CUdeviceptr address = 0;
    const Driver& real = driver();
    if (real.cuMemAlloc_v2 == nullptr || real.cuMemAlloc_v2(&address, bytes) != CUDA_SUCCESS)
        return 0;
    allocated_bytes += bytes;
    segment::store_relaxed(header.gpu_memory_kib, static_cast<std::uint32_t>(allocated_bytes >> 10));
    // On our own stream and waited for: a launch on a non-blocking stream must not overtake the zeroes.
    if (real.cuMemsetD8Async(address, 0, bytes, stream) != CUDA_SUCCESS ||
        real.cuStreamSynchronize(stream) != CUDA_SUCCESS)
        return 0;
    return address;
}

}  // namespace

CUcontext home_context() {
    return load(home);
}

CUdevice home_device() {
    return device;
}

bool home_is_primary() {
    return primary;
}

CUstream own_stream() {
    return stream;
}

void* staging() {
    return staging_memory;
}

bool adopt_current_context() {
    const Driver& real = driver();
    CUcontext current = nullptr;
    if (real.cuCtxGetCurrent(&current) != CUDA_SUCCESS || current == nullptr)
        return false;
    if (adopted_once)
        return current == load(home);
    if (real.cuCtxGetDevice(&device) != CUDA_SUCCESS ||
        real.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS)
        return false;
    if (largest_map() == 0 || real.cuMemHostAlloc == nullptr ||
        real.cuMemHostAlloc(&staging_memory, largest_map(), CU_MEMHOSTALLOC_PORTABLE) != CUDA_SUCCESS)
        staging_memory = nullptr;
    primary = is_primary(current);
    adopted_once = true;
    store(home, current);
    return true;
}

void forget_home_context() {
    store(home, static_cast<CUcontext>(nullptr));
    for (CUdeviceptr& address : memory)
        store(address, CUdeviceptr{0});
}

CUdeviceptr map_memory(std::uint32_t index) {
    if (index >= view().map_count())
        return 0;
    if (memory[index] == 0)
        store(memory[index], allocate(index));
    return memory[index];
}

CUdeviceptr allocated_map(std::uint32_t index) {
    return load(memory[index]);
}

}  // namespace egpu::agent
