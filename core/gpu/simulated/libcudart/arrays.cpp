// SPDX-License-Identifier: Apache-2.0
// Arrays: made, described, copied.
#include "gpu/simulated/libcudart/channels.hpp"
#include "gpu/simulated/libcudart/entry.hpp"

using namespace egpu::simulated::runtime;

namespace {

cudaError_t allocate(cudaArray_t* array, const cudaChannelFormatDesc* channels, cudaExtent extent, unsigned flags) {
    return call([&](Runtime& state) -> cudaError_t {
        if (array == nullptr || channels == nullptr) {
            return cudaErrorInvalidValue;
        }
        CUDA_ARRAY3D_DESCRIPTOR shape{extent.width, extent.height, extent.depth, CU_AD_FORMAT_FLOAT, 0, flags};
        if (!driver_format(*channels, shape.Format, shape.NumChannels)) {
            return cudaErrorInvalidChannelDescriptor;
        }
        return from_driver(state.driver.cuArray3DCreate(array, &shape));
    });
}

/// One side of a copy: an array, or memory whose kind its address says.
struct Side {
    cudaArray_t array = nullptr;
    cudaPitchedPtr memory{};
    cudaPos position{};  ///< x in bytes
};

/// `width` in bytes.
cudaError_t copy(Runtime& state, const Side& to, const Side& from, std::size_t width, std::size_t height,
                 std::size_t depth, cudaMemcpyKind kind, CUstream stream, bool wait) {
    if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault) {
        return cudaErrorInvalidMemcpyDirection;
    }
    CUDA_MEMCPY3D all{};
    all.srcMemoryType = from.array != nullptr ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_UNIFIED;
    all.srcArray = from.array;
    all.srcDevice = reinterpret_cast<CUdeviceptr>(from.memory.ptr);
    all.srcPitch = from.memory.pitch;
    all.srcHeight = from.memory.ysize;
    all.srcXInBytes = from.position.x;
    all.srcY = from.position.y;
    all.srcZ = from.position.z;
    all.dstMemoryType = to.array != nullptr ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_UNIFIED;
    all.dstArray = to.array;
    all.dstDevice = reinterpret_cast<CUdeviceptr>(to.memory.ptr);
    all.dstPitch = to.memory.pitch;
    all.dstHeight = to.memory.ysize;
    all.dstXInBytes = to.position.x;
    all.dstY = to.position.y;
    all.dstZ = to.position.z;
    all.WidthInBytes = width;
    all.Height = height;
    all.Depth = depth;
    CUresult result = state.driver.cuMemcpy3DAsync(&all, stream);
    if (result == CUDA_SUCCESS && wait) {
        result = state.driver.cuStreamSynchronize(stream);
    }
    return from_driver(result);
}

/// Of a plane: `rows` has memory with a pitch, `array` an array and where in it.
cudaError_t copy_plane(const Side& to, const Side& from, std::size_t width, std::size_t height, cudaMemcpyKind kind,
                       CUstream stream, bool wait) {
    return call([&](Runtime& state) {
        for (const Side& side : {to, from}) {
            if (side.array == nullptr && width > side.memory.pitch) {
                return cudaErrorInvalidPitchValue;
            }
        }
        return copy(state, to, from, width, height, 1, kind, stream, wait);
    });
}

Side rows(const void* pointer, std::size_t pitch) {
    return {nullptr, {const_cast<void*>(pointer), pitch, 0, 0}, {}};
}
Side place(cudaArray_const_t array, std::size_t x, std::size_t y) {
    return {array, {}, {x, y, 0}};
}

/// Bytes of an array's elements; 0 where it is none.
std::size_t element_bytes(Runtime& state, cudaArray_const_t array) {
    CUDA_ARRAY3D_DESCRIPTOR shape{};
    if (state.driver.cuArray3DGetDescriptor(&shape, array) != CUDA_SUCCESS) {
        return 0;
    }
    return static_cast<std::size_t>(bits_of_format(shape.Format)) / 8 * shape.NumChannels;
}

cudaError_t copy_3d(const cudaMemcpy3DParms* parameters, CUstream stream, bool wait) {
    return call([&](Runtime& state) -> cudaError_t {
        if (parameters == nullptr) {
            return cudaErrorInvalidValue;
        }
        Side to{parameters->dstArray, parameters->dstPtr, parameters->dstPos};
        Side from{parameters->srcArray, parameters->srcPtr, parameters->srcPos};
        std::size_t element = 1;  // widths of memory are bytes, those of arrays elements
        for (Side* const side : {&to, &from}) {
            if (side->array == nullptr) {
                continue;
            }
            const std::size_t own = element_bytes(state, side->array);
            if (own == 0 || side->memory.ptr != nullptr || (element != 1 && element != own)) {
                return cudaErrorInvalidValue;
            }
            element = own;
            side->position.x *= own;
        }
        return copy(state, to, from, parameters->extent.width * element, parameters->extent.height,
                    parameters->extent.depth, parameters->kind, stream, wait);
    });
}

}  // namespace

ENTRY cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind kind) {
    return {x, y, z, w, kind};
}

ENTRY cudaError_t cudaMallocArray(cudaArray_t* array, const cudaChannelFormatDesc* channels, size_t width,
                                  size_t height, unsigned flags) {
    return allocate(array, channels, {width, height, 0}, flags);
}
ENTRY cudaError_t cudaMalloc3DArray(cudaArray_t* array, const cudaChannelFormatDesc* channels, cudaExtent extent,
                                    unsigned flags) {
    return allocate(array, channels, extent, flags);
}
ENTRY cudaError_t cudaFreeArray(cudaArray_t array) {
    return call_driver(
        [&](const DriverCalls& driver) { return array == nullptr ? CUDA_SUCCESS : driver.cuArrayDestroy(array); });
}

ENTRY cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc* channels, cudaExtent* extent, unsigned* flags,
                                   cudaArray_t array) {
    return call([&](Runtime& state) -> cudaError_t {
        CUDA_ARRAY3D_DESCRIPTOR shape{};
        if (const CUresult error = state.driver.cuArray3DGetDescriptor(&shape, array); error != CUDA_SUCCESS) {
            return from_driver(error);
        }
        if (channels != nullptr) {
            *channels = channels_of(shape.Format, shape.NumChannels);
        }
        if (extent != nullptr) {
            *extent = {shape.Width, shape.Height, shape.Depth};
        }
        if (flags != nullptr) {
            *flags = shape.Flags;
        }
        return cudaSuccess;
    });
}
ENTRY cudaError_t cudaGetChannelDesc(cudaChannelFormatDesc* channels, cudaArray_const_t array) {
    return channels == nullptr ? cudaErrorInvalidValue : cudaArrayGetInfo(channels, nullptr, nullptr, array);
}

ENTRY cudaError_t cudaMalloc3D(cudaPitchedPtr* pointer, cudaExtent extent) {
    return call_driver([&](const DriverCalls& driver) -> CUresult {
        CUdeviceptr address = 0;
        std::size_t pitch = 0;
        if (pointer == nullptr || (extent.depth != 0 && extent.height > ~std::size_t{0} / extent.depth)) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        const CUresult result = driver.cuMemAllocPitch(&address, &pitch, extent.width, extent.height * extent.depth, 4);
        if (result == CUDA_SUCCESS) {
            *pointer = {reinterpret_cast<void*>(address), pitch, extent.width, extent.height};
        }
        return result;
    });
}

// Copies, each also in the form for per-thread default streams.
ENTRY cudaError_t cudaMemcpy2DToArray(cudaArray_t to, size_t x, size_t y, const void* from, size_t pitch, size_t width,
                                      size_t height, cudaMemcpyKind kind) {
    return copy_plane(place(to, x, y), rows(from, pitch), width, height, kind, nullptr, true);
}
ENTRY cudaError_t cudaMemcpy2DToArray_ptds(cudaArray_t to, size_t x, size_t y, const void* from, size_t pitch,
                                           size_t width, size_t height, cudaMemcpyKind kind) {
    return copy_plane(place(to, x, y), rows(from, pitch), width, height, kind, CU_STREAM_PER_THREAD, true);
}
ENTRY cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t to, size_t x, size_t y, const void* from, size_t pitch,
                                           size_t width, size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
    return copy_plane(place(to, x, y), rows(from, pitch), width, height, kind, stream, false);
}
ENTRY cudaError_t cudaMemcpy2DToArrayAsync_ptsz(cudaArray_t to, size_t x, size_t y, const void* from, size_t pitch,
                                                size_t width, size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
    return copy_plane(place(to, x, y), rows(from, pitch), width, height, kind, own_default(stream), false);
}
ENTRY cudaError_t cudaMemcpy2DFromArray(void* to, size_t pitch, cudaArray_const_t from, size_t x, size_t y,
                                        size_t width, size_t height, cudaMemcpyKind kind) {
    return copy_plane(rows(to, pitch), place(from, x, y), width, height, kind, nullptr, true);
}
ENTRY cudaError_t cudaMemcpy2DFromArray_ptds(void* to, size_t pitch, cudaArray_const_t from, size_t x, size_t y,
                                             size_t width, size_t height, cudaMemcpyKind kind) {
    return copy_plane(rows(to, pitch), place(from, x, y), width, height, kind, CU_STREAM_PER_THREAD, true);
}
ENTRY cudaError_t cudaMemcpy2DFromArrayAsync(void* to, size_t pitch, cudaArray_const_t from, size_t x, size_t y,
                                             size_t width, size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
    return copy_plane(rows(to, pitch), place(from, x, y), width, height, kind, stream, false);
}
ENTRY cudaError_t cudaMemcpy2DFromArrayAsync_ptsz(void* to, size_t pitch, cudaArray_const_t from, size_t x, size_t y,
                                                  size_t width, size_t height, cudaMemcpyKind kind,
                                                  cudaStream_t stream) {
    return copy_plane(rows(to, pitch), place(from, x, y), width, height, kind, own_default(stream), false);
}
ENTRY cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from,
                                           size_t from_x, size_t from_y, size_t width, size_t height,
                                           cudaMemcpyKind kind) {
    return copy_plane(place(to, to_x, to_y), place(from, from_x, from_y), width, height, kind, nullptr, true);
}
ENTRY cudaError_t cudaMemcpy2DArrayToArray_ptds(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from,
                                                size_t from_x, size_t from_y, size_t width, size_t height,
                                                cudaMemcpyKind kind) {
    return copy_plane(place(to, to_x, to_y), place(from, from_x, from_y), width, height, kind, CU_STREAM_PER_THREAD,
                      true);
}
ENTRY cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* parameters) {
    return copy_3d(parameters, nullptr, true);
}
ENTRY cudaError_t cudaMemcpy3D_ptds(const cudaMemcpy3DParms* parameters) {
    return copy_3d(parameters, CU_STREAM_PER_THREAD, true);
}
ENTRY cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* parameters, cudaStream_t stream) {
    return copy_3d(parameters, stream, false);
}
ENTRY cudaError_t cudaMemcpy3DAsync_ptsz(const cudaMemcpy3DParms* parameters, cudaStream_t stream) {
    return copy_3d(parameters, own_default(stream), false);
}
