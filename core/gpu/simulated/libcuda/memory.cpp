// SPDX-License-Identifier: Apache-2.0
// Allocations: device memory, and host memory that kernels reach at its host address.
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>

#include "gpu/simulated/libcuda/driver.hpp"
#include "gpu/simulated/libcuda/streams.hpp"

using namespace egpu::simulated;

namespace {

constexpr std::size_t kPitch = 512;      ///< rows of cuMemAllocPitch begin at multiples of this
constexpr std::size_t kAlignment = 512;  ///< of allocations: textures may lie over them from their first byte

CUresult allocate(CUdeviceptr* address, std::size_t bytes, Driver& state, DriverContext& context) {
    if (address == nullptr || bytes == 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    egpu::Result<std::uint64_t> made = state.memory.of(context.device).allocate(bytes, kAlignment);
    if (!made) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    const std::lock_guard lock(state.owned_mutex);
    state.owned[*made] = {&context, Origin::device, 0, bytes};
    *address = *made;
    return CUDA_SUCCESS;
}

/// Host memory of our own, mapped in; whole pages, so that their neighbours are not the application's data.
CUresult allocate_host(void** pointer, std::size_t bytes, Origin origin, unsigned flags, Driver& state,
                       DriverContext& context) {
    if (pointer == nullptr || bytes == 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (bytes > state.memory.capacity()) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    void* const made = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (!state.memory.map_host(made, bytes)) {
        munmap(made, bytes);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    const std::lock_guard lock(state.owned_mutex);
    state.owned[reinterpret_cast<std::uint64_t>(made)] = {&context, origin, flags, bytes};
    *pointer = made;
    return CUDA_SUCCESS;
}

CUresult release_host(std::uint64_t address, std::size_t bytes, Driver& state) {
    void* const pointer = reinterpret_cast<void*>(address);
    (void)state.memory.unmap_host(pointer);
    munmap(pointer, bytes);
    return CUDA_SUCCESS;
}

/// Takes an allocation out of the table where `allowed` says that this call may free it.
template <typename Condition>
bool take(std::uint64_t address, Driver& state, const Condition& allowed, OwnedMemory* memory) {
    const std::lock_guard lock(state.owned_mutex);
    const auto found = state.owned.find(address);
    if (found == state.owned.end() || !allowed(found->second.origin)) {
        return false;
    }
    *memory = found->second;
    state.owned.erase(found);
    return true;
}

CUresult release(CUdeviceptr address, Driver& state) {
    OwnedMemory memory;
    const auto allowed = [](Origin origin) { return origin == Origin::device || origin == Origin::managed; };
    if (!take(address, state, allowed, &memory)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (memory.origin == Origin::managed) {
        return release_host(address, memory.bytes, state);
    }
    return state.memory.release(address) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/// What is known of the allocation around an address, with its first address.
struct Owned {
    std::uint64_t address = 0;
    OwnedMemory memory;
    bool found = false;
};

Owned owner_of(std::uint64_t address, Driver& state) {
    const std::lock_guard lock(state.owned_mutex);
    auto next = state.owned.upper_bound(address);
    if (next == state.owned.begin()) {
        return {};
    }
    --next;
    return address - next->first < next->second.bytes ? Owned{next->first, next->second, true} : Owned{};
}

/// Allocations and releases in the order of a stream. In a capture they would be nodes that own memory.
template <typename Body>
CUresult on_pool(CUstream handle, DefaultStream zero, const Body& body) {
    return with_stream(
        handle, zero, [&](Driver& state, DriverContext& context, const std::shared_ptr<Stream>& stream) -> CUresult {
            if (is_captured(*stream)) {
                report(
                    "cuMemAllocAsync or cuMemFreeAsync in a captured stream: the simulated GPU has "
                    "no graph nodes that own memory");
                (void)check_running(state, *stream);
                return CUDA_ERROR_NOT_SUPPORTED;
            }
            const CUresult error = check_waiting(state);
            return error != CUDA_SUCCESS ? error : in_order(context, stream, [&] { return body(state, context); });
        });
}

CUresult allocate_on(CUdeviceptr* address, std::size_t bytes, CUstream stream, DefaultStream zero) {
    return on_pool(stream, zero,
                   [&](Driver& state, DriverContext& context) { return allocate(address, bytes, state, context); });
}

CUresult release_on(CUdeviceptr address, CUstream stream, DefaultStream zero) {
    return on_pool(stream, zero, [&](Driver& state, DriverContext&) { return release(address, state); });
}

CUresult prefetch_on(CUdeviceptr address, std::size_t bytes, CUstream stream, DefaultStream zero) {
    return on_stream(stream, zero, [&](Driver& state, DriverContext&, Stream&) -> CUresult {
        const Owned owned = owner_of(address, state);
        const bool inside = owned.found && bytes <= owned.memory.bytes - (address - owned.address);
        return inside && owned.memory.origin == Origin::managed ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    });
}

bool known(CUpointer_attribute attribute) {
    return attribute >= CU_POINTER_ATTRIBUTE_CONTEXT && attribute <= CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE;
}

template <typename Value>
CUresult store(void* data, Value value) {
    *static_cast<Value*>(data) = value;
    return CUDA_SUCCESS;
}

/// One attribute of memory that the device knows.
CUresult attribute_of(void* data, CUpointer_attribute attribute, CUdeviceptr address, Driver& state) {
    const std::optional<Allocation> allocation = state.memory.find(address);
    if (!allocation.has_value()) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const Owned owned = owner_of(address, state);
    const bool on_host = allocation->kind == AllocationKind::host;
    const bool managed = owned.found && owned.memory.origin == Origin::managed;
    switch (attribute) {
        case CU_POINTER_ATTRIBUTE_CONTEXT:
            return store(data, reinterpret_cast<CUcontext>(owned.memory.context));
        case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
            return store(data, static_cast<unsigned>(on_host && !managed ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE));
        case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
            return store(data, address);
        case CU_POINTER_ATTRIBUTE_HOST_POINTER:
            return on_host ? store(data, reinterpret_cast<void*>(address)) : CUDA_ERROR_INVALID_VALUE;
        case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
            return store(data, 1U);
        case CU_POINTER_ATTRIBUTE_BUFFER_ID:
            return store(data, static_cast<unsigned long long>(allocation->address));
        case CU_POINTER_ATTRIBUTE_IS_MANAGED:
            return store(data, managed ? 1U : 0U);
        case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
            return store(data, on_host && owned.found ? owned.memory.context->device : state.memory.device_of(address));
        case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
            return store(data, static_cast<CUdeviceptr>(allocation->address));
        case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
            return store(data, static_cast<std::size_t>(allocation->bytes));
        case CU_POINTER_ATTRIBUTE_MAPPED:
            return store(data, 1U);
        case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
        case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
            return store(data, 0U);
        default:
            return CUDA_ERROR_NOT_SUPPORTED;
    }
}

/// The answer of cuPointerGetAttributes for memory the device does not know: nothing, and no error.
void attribute_of_unknown(void* data, CUpointer_attribute attribute) {
    switch (attribute) {
        case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
            *static_cast<int*>(data) = -2;  // "no device", as the driver gives it
            return;
        case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
        case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        case CU_POINTER_ATTRIBUTE_MAPPED:
        case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
            *static_cast<unsigned*>(data) = 0;
            return;
        default:
            *static_cast<void**>(data) = nullptr;
            return;
    }
}

}  // namespace

CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
    return entry_in_context([&](Driver& state, DriverContext& context) -> CUresult {
        if (free == nullptr || total == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        const std::uint64_t used = std::min(state.memory.of(context.device).used(), state.memory.capacity());
        *free = state.memory.capacity() - used;
        *total = state.memory.capacity();
        return CUDA_SUCCESS;
    });
}

CUresult cuMemAlloc_v2(CUdeviceptr* address, size_t bytes) {
    return entry_that_waits([&](Driver& state, DriverContext& context) {
        const LoadGate::Work work(context.loads);
        return allocate(address, bytes, state, context);
    });
}

CUresult cuMemAllocPitch_v2(CUdeviceptr* address, size_t* pitch, size_t width, size_t height, unsigned element_bytes) {
    return entry_that_waits([&](Driver& state, DriverContext& context) -> CUresult {
        if (pitch == nullptr || width == 0 || height == 0 || width > state.memory.capacity() ||
            (element_bytes != 4 && element_bytes != 8 && element_bytes != 16)) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        const std::size_t row = (width + kPitch - 1) / kPitch * kPitch;
        if (height > state.memory.capacity() / row) {
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
        const CUresult error = allocate(address, row * height, state, context);
        *pitch = error == CUDA_SUCCESS ? row : *pitch;
        return error;
    });
}

CUresult cuMemFree_v2(CUdeviceptr address) {
    return entry_that_waits([&](Driver& state, DriverContext& context) -> CUresult {
        // Freeing waits for what runs, as on a GPU.
        const StreamOrder order(find_stream(nullptr, DefaultStream::legacy, context));
        return release(address, state);
    });
}

CUresult cuMemAllocAsync(CUdeviceptr* address, size_t bytes, CUstream stream) {
    return allocate_on(address, bytes, stream, DefaultStream::legacy);
}
CUresult cuMemAllocAsync_ptsz(CUdeviceptr* address, size_t bytes, CUstream stream) {
    return allocate_on(address, bytes, stream, DefaultStream::per_thread);
}
CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
    return release_on(address, stream, DefaultStream::legacy);
}
CUresult cuMemFreeAsync_ptsz(CUdeviceptr address, CUstream stream) {
    return release_on(address, stream, DefaultStream::per_thread);
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, size_t* bytes, CUdeviceptr address) {
    return entry_in_context([&](Driver& state, DriverContext&) -> CUresult {
        const std::optional<Allocation> allocation = state.memory.find(address);
        if (!allocation.has_value()) {
            return CUDA_ERROR_NOT_FOUND;
        }
        if (base != nullptr) {
            *base = allocation->address;
        }
        if (bytes != nullptr) {
            *bytes = allocation->bytes;
        }
        return CUDA_SUCCESS;
    });
}

CUresult cuMemAllocHost_v2(void** pointer, size_t bytes) {
    return cuMemHostAlloc(pointer, bytes, 0);
}

CUresult cuMemHostAlloc(void** pointer, size_t bytes, unsigned flags) {
    return entry_that_waits([&](Driver& state, DriverContext& context) -> CUresult {
        constexpr unsigned known_flags =
            CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
        if ((flags & ~known_flags) != 0) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        return allocate_host(pointer, bytes, Origin::pinned, flags, state, context);
    });
}

CUresult cuMemFreeHost(void* pointer) {
    return entry_that_waits([&](Driver& state, DriverContext& context) -> CUresult {
        const StreamOrder order(find_stream(nullptr, DefaultStream::legacy, context));
        const auto address = reinterpret_cast<std::uint64_t>(pointer);
        OwnedMemory memory;
        if (!take(
                address, state, [](Origin origin) { return origin == Origin::pinned; }, &memory)) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        return release_host(address, memory.bytes, state);
    });
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* address, void* pointer, unsigned flags) {
    return entry_in_context([&](Driver& state, DriverContext&) -> CUresult {
        const Owned owned = owner_of(reinterpret_cast<std::uint64_t>(pointer), state);
        if (address == nullptr || flags != 0 || !owned.found || owned.memory.origin == Origin::device) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        *address = reinterpret_cast<std::uint64_t>(pointer);
        return CUDA_SUCCESS;
    });
}

CUresult cuMemHostGetFlags(unsigned* flags, void* pointer) {
    return entry_in_context([&](Driver& state, DriverContext&) -> CUresult {
        const Owned owned = owner_of(reinterpret_cast<std::uint64_t>(pointer), state);
        if (flags == nullptr || !owned.found || owned.memory.origin != Origin::pinned) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        *flags = owned.memory.flags | CU_MEMHOSTALLOC_DEVICEMAP;  // mapped in any case under unified addressing
        return CUDA_SUCCESS;
    });
}

CUresult cuMemHostRegister_v2(void* pointer, size_t bytes, unsigned flags) {
    return entry_that_waits([&](Driver& state, DriverContext& context) -> CUresult {
        constexpr unsigned known_flags = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP |
                                         CU_MEMHOSTREGISTER_IOMEMORY | CU_MEMHOSTREGISTER_READ_ONLY;
        if (pointer == nullptr || bytes == 0 || (flags & ~known_flags) != 0) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        const auto address = reinterpret_cast<std::uint64_t>(pointer);
        if (!state.memory.map_host(pointer, bytes)) {
            return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
        }
        const std::lock_guard lock(state.owned_mutex);
        state.owned[address] = {&context, Origin::registered, flags, bytes};
        return CUDA_SUCCESS;
    });
}

CUresult cuMemHostUnregister(void* pointer) {
    return entry_that_waits([&](Driver& state, DriverContext& context) -> CUresult {
        const StreamOrder order(find_stream(nullptr, DefaultStream::legacy, context));
        OwnedMemory memory;
        const auto allowed = [](Origin origin) { return origin == Origin::registered; };
        if (!take(reinterpret_cast<std::uint64_t>(pointer), state, allowed, &memory)) {
            return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
        }
        return state.memory.unmap_host(pointer) ? CUDA_SUCCESS : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    });
}

CUresult cuMemAllocManaged(CUdeviceptr* address, size_t bytes, unsigned flags) {
    return entry_that_waits([&](Driver& state, DriverContext& context) -> CUresult {
        if (address == nullptr || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST)) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        void* pointer = nullptr;
        const CUresult error = allocate_host(&pointer, bytes, Origin::managed, flags, state, context);
        *address = error == CUDA_SUCCESS ? reinterpret_cast<CUdeviceptr>(pointer) : *address;
        return error;
    });
}

CUresult cuMemPrefetchAsync_v2(CUdeviceptr address, size_t bytes, CUmemLocation, unsigned, CUstream stream) {
    return prefetch_on(address, bytes, stream, DefaultStream::legacy);
}
CUresult cuMemPrefetchAsync_v2_ptsz(CUdeviceptr address, size_t bytes, CUmemLocation, unsigned, CUstream stream) {
    return prefetch_on(address, bytes, stream, DefaultStream::per_thread);
}
CUresult cuMemAdvise_v2(CUdeviceptr address, size_t, CUmem_advise, CUmemLocation) {
    return entry_in_context([&](Driver& state, DriverContext&) -> CUresult {
        const Owned owned = owner_of(address, state);
        return owned.found && owned.memory.origin == Origin::managed ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    });
}

CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr address) {
    return entry([&](Driver& state) -> CUresult {
        if (data == nullptr || !known(attribute)) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        return attribute_of(data, attribute, address, state);
    });
}

CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute* attributes, void** data, CUdeviceptr address) {
    return entry([&](Driver& state) -> CUresult {
        if (attributes == nullptr || data == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        for (unsigned index = 0; index < count; ++index) {
            if (data[index] == nullptr || !known(attributes[index])) {
                return CUDA_ERROR_INVALID_VALUE;
            }
            if (attribute_of(data[index], attributes[index], address, state) != CUDA_SUCCESS) {
                attribute_of_unknown(data[index], attributes[index]);
            }
        }
        return CUDA_SUCCESS;
    });
}
