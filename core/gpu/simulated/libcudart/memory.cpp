// SPDX-License-Identifier: Apache-2.0
// Allocations, copies, fills, symbols.
#include "gpu/simulated/libcudart/entry.hpp"

using namespace egpu::simulated::runtime;

namespace {

CUdeviceptr address_of(const void* pointer) {
    return reinterpret_cast<CUdeviceptr>(pointer);
}

/// A copy of one direction by the driver's function for it; `wait`: the form that returns when it is done.
cudaError_t copy(Runtime& state, void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, CUstream stream,
                 bool wait) {
    const DriverCalls& driver = state.driver;
    const bool default_stream = stream == nullptr && wait;
    CUresult result = CUDA_SUCCESS;
    switch (kind) {
        case cudaMemcpyHostToDevice:
            result = default_stream ? driver.cuMemcpyHtoD(address_of(to), from, bytes)
                                    : driver.cuMemcpyHtoDAsync(address_of(to), from, bytes, stream);
            break;
        case cudaMemcpyDeviceToHost:
            result = default_stream ? driver.cuMemcpyDtoH(to, address_of(from), bytes)
                                    : driver.cuMemcpyDtoHAsync(to, address_of(from), bytes, stream);
            break;
        case cudaMemcpyDeviceToDevice:
            result = default_stream ? driver.cuMemcpyDtoD(address_of(to), address_of(from), bytes)
                                    : driver.cuMemcpyDtoDAsync(address_of(to), address_of(from), bytes, stream);
            break;
        case cudaMemcpyHostToHost:
        case cudaMemcpyDefault:
            result = default_stream ? driver.cuMemcpy(address_of(to), address_of(from), bytes)
                                    : driver.cuMemcpyAsync(address_of(to), address_of(from), bytes, stream);
            break;
        default:
            return cudaErrorInvalidMemcpyDirection;
    }
    if (result == CUDA_SUCCESS && wait && !default_stream) {
        result = driver.cuStreamSynchronize(stream);
    }
    return from_driver(result);
}

cudaError_t copy_rows(Runtime& state, void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                      std::size_t width, std::size_t height, cudaMemcpyKind kind, CUstream stream, bool wait) {
    if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault) {
        return cudaErrorInvalidMemcpyDirection;
    }
    if (width > to_pitch || width > from_pitch) {
        return cudaErrorInvalidPitchValue;
    }
    CUDA_MEMCPY2D rows{};
    rows.srcMemoryType = CU_MEMORYTYPE_UNIFIED;
    rows.srcDevice = address_of(from);
    rows.srcPitch = from_pitch;
    rows.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
    rows.dstDevice = address_of(to);
    rows.dstPitch = to_pitch;
    rows.WidthInBytes = width;
    rows.Height = height;
    CUresult result = state.driver.cuMemcpy2DAsync(&rows, stream);
    if (result == CUDA_SUCCESS && wait) {
        result = state.driver.cuStreamSynchronize(stream);
    }
    return from_driver(result);
}

/// A copy to (or from) a variable, at an offset.
cudaError_t copy_symbol(const void* symbol, const void* other, std::size_t bytes, std::size_t offset,
                        cudaMemcpyKind kind, CUstream stream, bool wait, bool to_symbol) {
    return call([&](Runtime& state) {
        CUdeviceptr address = 0;
        std::size_t size = 0;
        if (const cudaError_t error = variable_of(state, symbol, &address, &size); error != cudaSuccess) {
            return error;
        }
        if (offset > size || bytes > size - offset) {
            return cudaErrorInvalidValue;
        }
        const cudaMemcpyKind from_host = to_symbol ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost;
        if (kind != from_host && kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault) {
            return cudaErrorInvalidMemcpyDirection;
        }
        void* const inside = reinterpret_cast<void*>(address + offset);
        return to_symbol ? copy(state, inside, other, bytes, kind, stream, wait)
                         : copy(state, const_cast<void*>(other), inside, bytes, kind, stream, wait);
    });
}

cudaError_t allocate(void** pointer, std::size_t bytes,
                     CUresult (*by_driver)(const DriverCalls&, CUdeviceptr*, size_t)) {
    return call([&](Runtime& state) {
        if (pointer == nullptr) {
            return cudaErrorInvalidValue;
        }
        if (bytes == 0) {
            *pointer = nullptr;
            return cudaSuccess;
        }
        CUdeviceptr address = 0;
        const CUresult result = by_driver(state.driver, &address, bytes);
        if (result == CUDA_SUCCESS) {
            *pointer = reinterpret_cast<void*>(address);
        }
        return from_driver(result);
    });
}

cudaError_t fill(void* pointer, int value, std::size_t bytes, CUstream stream, bool wait) {
    return call_driver([&](const DriverCalls& driver) {
        const auto byte = static_cast<unsigned char>(value);
        return wait && stream == nullptr ? driver.cuMemsetD8(address_of(pointer), byte, bytes)
                                         : driver.cuMemsetD8Async(address_of(pointer), byte, bytes, stream);
    });
}

cudaError_t host_alloc(void** pointer, std::size_t bytes, unsigned flags) {
    return call_driver([&](const DriverCalls& driver) { return driver.cuMemHostAlloc(pointer, bytes, flags); });
}

}  // namespace

ENTRY cudaError_t cudaMalloc(void** pointer, size_t bytes) {
    return allocate(pointer, bytes, [](const DriverCalls& driver, CUdeviceptr* address, size_t size) {
        return driver.cuMemAlloc(address, size);
    });
}

ENTRY cudaError_t cudaMallocManaged(void** pointer, size_t bytes, unsigned flags) {
    return call_driver([&](const DriverCalls& driver) {
        return driver.cuMemAllocManaged(reinterpret_cast<CUdeviceptr*>(pointer), bytes, flags);
    });
}

ENTRY cudaError_t cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
    return call_driver([&](const DriverCalls& driver) {
        return driver.cuMemAllocPitch(reinterpret_cast<CUdeviceptr*>(pointer), pitch, width, height, 4);
    });
}

ENTRY cudaError_t cudaFree(void* pointer) {
    return call_driver([&](const DriverCalls& driver) {
        return pointer == nullptr ? CUDA_SUCCESS : driver.cuMemFree(address_of(pointer));
    });
}

ENTRY cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t stream) {
    return call_driver([&](const DriverCalls& driver) {
        return driver.cuMemAllocAsync(reinterpret_cast<CUdeviceptr*>(pointer), bytes, stream);
    });
}
ENTRY cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) {
    return call_driver([&](const DriverCalls& driver) { return driver.cuMemFreeAsync(address_of(pointer), stream); });
}

ENTRY cudaError_t cudaMallocHost(void** pointer, size_t bytes) {
    return host_alloc(pointer, bytes, 0);
}
ENTRY cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned flags) {
    return host_alloc(pointer, bytes, flags);
}
ENTRY cudaError_t cudaFreeHost(void* pointer) {
    return call_driver(
        [&](const DriverCalls& driver) { return pointer == nullptr ? CUDA_SUCCESS : driver.cuMemFreeHost(pointer); });
}
ENTRY cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned flags) {
    return call_driver([&](const DriverCalls& driver) { return driver.cuMemHostRegister(pointer, bytes, flags); });
}
ENTRY cudaError_t cudaHostUnregister(void* pointer) {
    return call_driver([&](const DriverCalls& driver) { return driver.cuMemHostUnregister(pointer); });
}
ENTRY cudaError_t cudaHostGetDevicePointer(void** device_pointer, void* pointer, unsigned flags) {
    return call_driver([&](const DriverCalls& driver) {
        return driver.cuMemHostGetDevicePointer(reinterpret_cast<CUdeviceptr*>(device_pointer), pointer, flags);
    });
}

ENTRY cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total) {
    return call_driver([&](const DriverCalls& driver) { return driver.cuMemGetInfo(free_bytes, total); });
}

ENTRY cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t bytes, CUmemLocation location, unsigned flags,
                                       cudaStream_t stream) {
    return call_driver([&](const DriverCalls& driver) {
        return driver.cuMemPrefetchAsync(address_of(pointer), bytes, location, flags, stream);
    });
}

ENTRY cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
    return call([&](Runtime& state) {
        if (attributes == nullptr) {
            return cudaErrorInvalidValue;
        }
        unsigned type = 0;
        unsigned managed = 0;
        int device = 0;
        void* device_pointer = nullptr;
        void* host_pointer = nullptr;
        CUpointer_attribute wanted[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
                                        CU_POINTER_ATTRIBUTE_HOST_POINTER};
        void* values[] = {&type, &managed, &device, &device_pointer, &host_pointer};
        const CUresult result = state.driver.cuPointerGetAttributes(5, wanted, values, address_of(pointer));
        if (result != CUDA_SUCCESS) {
            return from_driver(result);
        }
        *attributes = {};
        attributes->type = managed != 0                   ? cudaMemoryTypeManaged
                           : type == CU_MEMORYTYPE_HOST   ? cudaMemoryTypeHost
                           : type == CU_MEMORYTYPE_DEVICE ? cudaMemoryTypeDevice
                                                          : cudaMemoryTypeUnregistered;
        attributes->device = type == 0 ? -2 : device;
        attributes->devicePointer = device_pointer;
        attributes->hostPointer = type == 0 ? const_cast<void*>(pointer) : host_pointer;
        return cudaSuccess;
    });
}

// Each copy and fill, also in the form for per-thread default streams.
ENTRY cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
    return call([&](Runtime& state) { return copy(state, to, from, bytes, kind, nullptr, true); });
}
ENTRY cudaError_t cudaMemcpy_ptds(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
    return call([&](Runtime& state) { return copy(state, to, from, bytes, kind, CU_STREAM_PER_THREAD, true); });
}
ENTRY cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
    return call([&](Runtime& state) { return copy(state, to, from, bytes, kind, stream, false); });
}
ENTRY cudaError_t cudaMemcpyAsync_ptsz(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                                       cudaStream_t stream) {
    return call([&](Runtime& state) { return copy(state, to, from, bytes, kind, own_default(stream), false); });
}
ENTRY cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                               size_t height, cudaMemcpyKind kind) {
    return call([&](Runtime& state) {
        return copy_rows(state, to, to_pitch, from, from_pitch, width, height, kind, nullptr, true);
    });
}
ENTRY cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                                    size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
    return call([&](Runtime& state) {
        return copy_rows(state, to, to_pitch, from, from_pitch, width, height, kind, stream, false);
    });
}
ENTRY cudaError_t cudaMemset(void* pointer, int value, size_t bytes) {
    return fill(pointer, value, bytes, nullptr, true);
}
ENTRY cudaError_t cudaMemset_ptds(void* pointer, int value, size_t bytes) {
    return fill(pointer, value, bytes, CU_STREAM_PER_THREAD, true);
}
ENTRY cudaError_t cudaMemsetAsync(void* pointer, int value, size_t bytes, cudaStream_t stream) {
    return fill(pointer, value, bytes, stream, false);
}
ENTRY cudaError_t cudaMemsetAsync_ptsz(void* pointer, int value, size_t bytes, cudaStream_t stream) {
    return fill(pointer, value, bytes, own_default(stream), false);
}

ENTRY cudaError_t cudaMemset2DAsync(void* pointer, size_t pitch, int value, size_t width, size_t height,
                                    cudaStream_t stream) {
    return call_driver([&](const DriverCalls& driver) {
        return driver.cuMemsetD2D8Async(address_of(pointer), pitch, static_cast<unsigned char>(value), width, height,
                                        stream);
    });
}
ENTRY cudaError_t cudaMemset2D(void* pointer, size_t pitch, int value, size_t width, size_t height) {
    return cudaMemset2DAsync(pointer, pitch, value, width, height, nullptr);
}

ENTRY cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* from, size_t bytes, size_t offset,
                                     cudaMemcpyKind kind) {
    return copy_symbol(symbol, from, bytes, offset, kind, nullptr, true, true);
}
ENTRY cudaError_t cudaMemcpyFromSymbol(void* to, const void* symbol, size_t bytes, size_t offset, cudaMemcpyKind kind) {
    return copy_symbol(symbol, to, bytes, offset, kind, nullptr, true, false);
}
ENTRY cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* from, size_t bytes, size_t offset,
                                          cudaMemcpyKind kind, cudaStream_t stream) {
    return copy_symbol(symbol, from, bytes, offset, kind, stream, false, true);
}
ENTRY cudaError_t cudaMemcpyFromSymbolAsync(void* to, const void* symbol, size_t bytes, size_t offset,
                                            cudaMemcpyKind kind, cudaStream_t stream) {
    return copy_symbol(symbol, to, bytes, offset, kind, stream, false, false);
}
ENTRY cudaError_t cudaGetSymbolAddress(void** pointer, const void* symbol) {
    return call([&](Runtime& state) {
        CUdeviceptr address = 0;
        std::size_t bytes = 0;
        const cudaError_t error = variable_of(state, symbol, &address, &bytes);
        if (error == cudaSuccess && pointer != nullptr) {
            *pointer = reinterpret_cast<void*>(address);
        }
        return error;
    });
}
ENTRY cudaError_t cudaGetSymbolSize(size_t* size, const void* symbol) {
    return call([&](Runtime& state) {
        CUdeviceptr address = 0;
        std::size_t bytes = 0;
        const cudaError_t error = variable_of(state, symbol, &address, &bytes);
        if (error == cudaSuccess && size != nullptr) {
            *size = bytes;
        }
        return error;
    });
}
