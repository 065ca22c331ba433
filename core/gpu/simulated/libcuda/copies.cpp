// SPDX-License-Identifier: Apache-2.0
// cuMemcpy* and cuMemset*. A copy that is not asynchronous belongs to the default stream.
#include <algorithm>
#include <cstring>

#include "gpu/simulated/libcuda/driver.hpp"
#include "gpu/simulated/libcuda/streams.hpp"

using namespace egpu::simulated;

namespace {

constexpr DefaultStream kLegacy = DefaultStream::legacy;
constexpr DefaultStream kOwn = DefaultStream::per_thread;

CUresult result(const egpu::Status& status) {
    return status ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/// Unified addressing: each side is memory the device knows, or pageable memory of the host. An address of the device's
/// own range is never the host's, so a bad device pointer is an error and not a crash.
bool is_device_side(std::uint64_t address, const Driver& state) {
    const bool in_range = address >= kDeviceBase && address - kDeviceBase < kDeviceSlice * kDeviceSlices;
    return in_range || state.memory.find(address).has_value();
}

CUresult copy_unified(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, Driver& state) {
    if (bytes == 0) {
        return CUDA_SUCCESS;
    }
    if (to < kLowestAddress || from < kLowestAddress) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const bool to_device = is_device_side(to, state);
    const bool from_device = is_device_side(from, state);
    if (to_device && from_device) {
        return result(state.memory.copy(to, from, bytes));
    }
    if (to_device) {
        return result(state.memory.copy_in(to, reinterpret_cast<const void*>(from), bytes));
    }
    if (from_device) {
        return result(state.memory.copy_out(reinterpret_cast<void*>(to), from, bytes));
    }
    std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
    return CUDA_SUCCESS;
}

/// One side of a copy of rows: where row (y, z) begins.
struct Side {
    CUmemorytype type;
    std::uint64_t base;
    std::size_t x;
    std::size_t y;
    std::size_t z;
    std::size_t pitch;
    std::size_t height;       ///< rows of a slice
    CUarray array = nullptr;  ///< of arrays; found: its base, and it is device memory like any other
    std::size_t slices = 0;   ///< of an array that was found
    std::size_t row_bytes = 0;

    std::uint64_t row(std::size_t at_y, std::size_t at_z) const {
        return base + x + ((z + at_z) * height + y + at_y) * pitch;
    }
};

CUresult check_side(const Side& side, std::size_t width, std::size_t height, std::size_t depth) {
    if (side.type == CU_MEMORYTYPE_ARRAY) {
        return CUDA_ERROR_INVALID_HANDLE;  // it was not found
    }
    if (side.type < CU_MEMORYTYPE_HOST || side.type > CU_MEMORYTYPE_UNIFIED) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    // No sum or product of these may wrap.
    constexpr std::size_t most = std::size_t{1} << 40;
    for (const std::size_t value : {side.x, side.y, side.z, side.pitch, side.height, width, height, depth}) {
        if (value > most) {
            return CUDA_ERROR_INVALID_VALUE;
        }
    }
    const std::size_t rows_most = most / std::max<std::size_t>(side.pitch, 1);
    const std::size_t slices = std::max<std::size_t>(side.z + depth, 1);
    if (side.y + height > rows_most || std::max(side.height, height) > rows_most / slices) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (side.slices != 0 &&
        (side.x + width > side.row_bytes || side.y + height > side.height || side.z + depth > side.slices)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const bool several_rows = height > 1 || depth > 1;
    return several_rows && side.pitch < side.x + width ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

/// The address a side's row has for copy_unified; host sides are what the application says they are.
CUresult copy_row(const Side& to, const Side& from, std::uint64_t to_row, std::uint64_t from_row, std::size_t width,
                  Driver& state) {
    const bool to_host = to.type == CU_MEMORYTYPE_HOST;
    const bool from_host = from.type == CU_MEMORYTYPE_HOST;
    if (to_host && from_host) {
        std::memmove(reinterpret_cast<void*>(to_row), reinterpret_cast<const void*>(from_row), width);
        return CUDA_SUCCESS;
    }
    if (to.type == CU_MEMORYTYPE_DEVICE && from.type == CU_MEMORYTYPE_DEVICE) {
        return result(state.memory.copy(to_row, from_row, width));
    }
    if (from_host && to.type == CU_MEMORYTYPE_DEVICE) {
        return result(state.memory.copy_in(to_row, reinterpret_cast<const void*>(from_row), width));
    }
    if (to_host && from.type == CU_MEMORYTYPE_DEVICE) {
        return result(state.memory.copy_out(reinterpret_cast<void*>(to_row), from_row, width));
    }
    return copy_unified(to_row, from_row, width, state);
}

std::uint64_t base_of(CUmemorytype type, const void* host, CUdeviceptr device) {
    return type == CU_MEMORYTYPE_HOST ? reinterpret_cast<std::uint64_t>(host) : device;
}

/// Both sides of a copy, what was left out filled in.
struct Sides {
    Side to;
    Side from;
};

/// An array's rows in the memory that it is made of.
void find_array(Side& side) {
    const std::shared_ptr<CudaArray> array = driver().arrays.find(side.array);
    if (side.type != CU_MEMORYTYPE_ARRAY || array == nullptr) {
        return;
    }
    const Image& image = array->image;
    side.type = CU_MEMORYTYPE_DEVICE;
    side.base = image.address;
    side.pitch = image.pitch;
    side.height = image.height;
    side.slices = image.slices;
    side.row_bytes = image.row_bytes();
}

Sides sides_of(const CUDA_MEMCPY3D& copy) {
    Sides sides{{copy.dstMemoryType, base_of(copy.dstMemoryType, copy.dstHost, copy.dstDevice), copy.dstXInBytes,
                 copy.dstY, copy.dstZ, copy.dstPitch, copy.dstHeight, copy.dstArray},
                {copy.srcMemoryType, base_of(copy.srcMemoryType, copy.srcHost, copy.srcDevice), copy.srcXInBytes,
                 copy.srcY, copy.srcZ, copy.srcPitch, copy.srcHeight, copy.srcArray}};
    for (Side* side : {&sides.to, &sides.from}) {
        find_array(*side);
        side->pitch = side->pitch == 0 ? side->x + copy.WidthInBytes : side->pitch;
        side->height = side->height == 0 ? side->y + copy.Height : side->height;
    }
    return sides;
}

bool is_nothing(const CUDA_MEMCPY3D& copy) {
    return copy.WidthInBytes == 0 || copy.Height == 0 || copy.Depth == 0;
}

/// A copy in a stream; of one row, two or three dimensions.
CUresult enqueue_copy(const CUDA_MEMCPY3D& copy, CUstream stream, DefaultStream zero, Returns returns) {
    return enqueue_work(stream, zero, returns, [&](DriverContext&, Work& work, bool& something) {
        something = !is_nothing(copy);
        work = CopyWork{copy};
        return check_copy(copy);
    });
}

/// A copy of bytes between a side and a side, each given by its type and address.
CUresult copy_bytes(CUmemorytype to_type, std::uint64_t to, CUmemorytype from_type, std::uint64_t from,
                    std::size_t bytes, CUstream stream, DefaultStream zero, Returns returns) {
    CUDA_MEMCPY3D copy{};
    copy.dstMemoryType = to_type;
    copy.srcMemoryType = from_type;
    if (to_type == CU_MEMORYTYPE_HOST) {
        copy.dstHost = reinterpret_cast<void*>(to);
    } else {
        copy.dstDevice = to;
    }
    if (from_type == CU_MEMORYTYPE_HOST) {
        copy.srcHost = reinterpret_cast<const void*>(from);
    } else {
        copy.srcDevice = from;
    }
    copy.WidthInBytes = bytes;
    copy.Height = 1;
    copy.Depth = 1;
    return enqueue_copy(copy, stream, zero, returns);
}

CUresult copy_in(CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream, DefaultStream zero,
                 Returns returns) {
    return copy_bytes(CU_MEMORYTYPE_DEVICE, to, CU_MEMORYTYPE_HOST, reinterpret_cast<std::uint64_t>(from), bytes,
                      stream, zero, returns);
}

CUresult copy_out(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream, DefaultStream zero, Returns returns) {
    return copy_bytes(CU_MEMORYTYPE_HOST, reinterpret_cast<std::uint64_t>(to), CU_MEMORYTYPE_DEVICE, from, bytes,
                      stream, zero, returns);
}

CUresult copy_device(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream, DefaultStream zero,
                     Returns returns) {
    return copy_bytes(CU_MEMORYTYPE_DEVICE, to, CU_MEMORYTYPE_DEVICE, from, bytes, stream, zero, returns);
}

CUresult copy_any(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream, DefaultStream zero,
                  Returns returns) {
    return copy_bytes(CU_MEMORYTYPE_UNIFIED, to, CU_MEMORYTYPE_UNIFIED, from, bytes, stream, zero, returns);
}

CUresult copy_peer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, std::size_t bytes,
                   CUstream stream, DefaultStream zero, Returns returns) {
    return entry([&](Driver& state) -> CUresult {
        if (state.contexts.find(to_context) == nullptr || state.contexts.find(from_context) == nullptr) {
            return CUDA_ERROR_INVALID_CONTEXT;
        }
        return copy_device(to, from, bytes, stream, zero, returns);
    });
}

CUresult copy_2d(const CUDA_MEMCPY2D* copy, CUstream stream, DefaultStream zero, Returns returns) {
    if (copy == nullptr) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    CUDA_MEMCPY3D whole{};
    whole.srcXInBytes = copy->srcXInBytes;
    whole.srcY = copy->srcY;
    whole.srcMemoryType = copy->srcMemoryType;
    whole.srcHost = copy->srcHost;
    whole.srcDevice = copy->srcDevice;
    whole.srcArray = copy->srcArray;
    whole.srcPitch = copy->srcPitch;
    whole.dstXInBytes = copy->dstXInBytes;
    whole.dstY = copy->dstY;
    whole.dstMemoryType = copy->dstMemoryType;
    whole.dstHost = copy->dstHost;
    whole.dstDevice = copy->dstDevice;
    whole.dstArray = copy->dstArray;
    whole.dstPitch = copy->dstPitch;
    whole.WidthInBytes = copy->WidthInBytes;
    whole.Height = copy->Height;
    whole.Depth = 1;
    return enqueue_copy(whole, stream, zero, returns);
}

CUresult copy_3d(const CUDA_MEMCPY3D* copy, CUstream stream, DefaultStream zero, Returns returns) {
    return copy == nullptr ? CUDA_ERROR_INVALID_VALUE : enqueue_copy(*copy, stream, zero, returns);
}

/// `rows` rows of `count` elements of `width` bytes.
CUresult fill(CUdeviceptr to, std::size_t pitch, std::uint64_t value, std::uint32_t width, std::size_t count,
              std::size_t rows, CUstream stream, DefaultStream zero, Returns returns) {
    return enqueue_work(stream, zero, returns, [&](DriverContext&, Work& work, bool& something) {
        const CUDA_MEMSET_NODE_PARAMS parameters{to, pitch, static_cast<unsigned>(value), width, count, rows};
        something = count > 0 && rows > 0;
        work = FillWork{parameters};
        return check_fill(parameters);
    });
}

constexpr Returns kAtOnce = Returns::at_once;
constexpr Returns kWhenDone = Returns::when_done;

}  // namespace

namespace egpu::simulated {

CUresult check_copy(const CUDA_MEMCPY3D& copy) {
    if (copy.srcLOD != 0 || copy.dstLOD != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const Sides sides = sides_of(copy);
    for (const Side& side : {sides.to, sides.from}) {
        const CUresult error = check_side(side, copy.WidthInBytes, copy.Height, copy.Depth);
        if (error != CUDA_SUCCESS) {
            return error;
        }
    }
    if (is_nothing(copy)) {
        return CUDA_SUCCESS;
    }
    for (const Side& side : {sides.to, sides.from}) {
        const bool known = side.type != CU_MEMORYTYPE_DEVICE || driver().memory.find(side.row(0, 0)).has_value();
        if (side.base == 0 || !known) {
            return CUDA_ERROR_INVALID_VALUE;
        }
    }
    return CUDA_SUCCESS;
}

CUresult run_copy(const CUDA_MEMCPY3D& copy, Driver& state) {
    const Sides sides = sides_of(copy);
    for (std::size_t z = 0; z < copy.Depth; ++z) {
        for (std::size_t y = 0; y < copy.Height; ++y) {
            const CUresult error =
                copy_row(sides.to, sides.from, sides.to.row(y, z), sides.from.row(y, z), copy.WidthInBytes, state);
            if (error != CUDA_SUCCESS) {
                return error;
            }
        }
    }
    return CUDA_SUCCESS;
}

CUresult check_fill(const CUDA_MEMSET_NODE_PARAMS& fill) {
    constexpr std::size_t most = std::size_t{1} << 40;
    const std::size_t element = fill.elementSize;
    const bool several = fill.height > 1;
    const bool wrong = (element != 1 && element != 2 && element != 4) || fill.width > most || fill.height > most ||
                       (several && (fill.pitch < fill.width * element || fill.pitch > most / fill.height)) ||
                       fill.dst % element != 0 || (several && fill.pitch % element != 0);
    return wrong ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult run_fill(const CUDA_MEMSET_NODE_PARAMS& fill, Driver& state) {
    for (std::size_t row = 0; row < fill.height && fill.width > 0; ++row) {
        if (!state.memory.fill(fill.dst + row * fill.pitch, fill.value, fill.elementSize, fill.width)) {
            return CUDA_ERROR_INVALID_VALUE;
        }
    }
    return CUDA_SUCCESS;
}

}  // namespace egpu::simulated

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    return copy_any(to, from, bytes, nullptr, kLegacy, kWhenDone);
}
CUresult cuMemcpy_ptds(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    return copy_any(to, from, bytes, nullptr, kOwn, kWhenDone);
}
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    return copy_any(to, from, bytes, stream, kLegacy, kAtOnce);
}
CUresult cuMemcpyAsync_ptsz(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    return copy_any(to, from, bytes, stream, kOwn, kAtOnce);
}
CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t bytes) {
    return copy_in(to, from, bytes, nullptr, kLegacy, kWhenDone);
}
CUresult cuMemcpyHtoD_v2_ptds(CUdeviceptr to, const void* from, size_t bytes) {
    return copy_in(to, from, bytes, nullptr, kOwn, kWhenDone);
}
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
    return copy_in(to, from, bytes, stream, kLegacy, kAtOnce);
}
CUresult cuMemcpyHtoDAsync_v2_ptsz(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
    return copy_in(to, from, bytes, stream, kOwn, kAtOnce);
}
CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t bytes) {
    return copy_out(to, from, bytes, nullptr, kLegacy, kWhenDone);
}
CUresult cuMemcpyDtoH_v2_ptds(void* to, CUdeviceptr from, size_t bytes) {
    return copy_out(to, from, bytes, nullptr, kOwn, kWhenDone);
}
CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
    return copy_out(to, from, bytes, stream, kLegacy, kAtOnce);
}
CUresult cuMemcpyDtoHAsync_v2_ptsz(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
    return copy_out(to, from, bytes, stream, kOwn, kAtOnce);
}
CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    return copy_device(to, from, bytes, nullptr, kLegacy, kWhenDone);
}
CUresult cuMemcpyDtoD_v2_ptds(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    return copy_device(to, from, bytes, nullptr, kOwn, kWhenDone);
}
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    return copy_device(to, from, bytes, stream, kLegacy, kAtOnce);
}
CUresult cuMemcpyDtoDAsync_v2_ptsz(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    return copy_device(to, from, bytes, stream, kOwn, kAtOnce);
}
CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes) {
    return copy_peer(to, to_context, from, from_context, bytes, nullptr, kLegacy, kWhenDone);
}
CUresult cuMemcpyPeer_ptds(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                           size_t bytes) {
    return copy_peer(to, to_context, from, from_context, bytes, nullptr, kOwn, kWhenDone);
}
CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes,
                           CUstream stream) {
    return copy_peer(to, to_context, from, from_context, bytes, stream, kLegacy, kAtOnce);
}
CUresult cuMemcpyPeerAsync_ptsz(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                                size_t bytes, CUstream stream) {
    return copy_peer(to, to_context, from, from_context, bytes, stream, kOwn, kAtOnce);
}
CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D* copy) {
    return copy_2d(copy, nullptr, kLegacy, kWhenDone);
}
CUresult cuMemcpy2D_v2_ptds(const CUDA_MEMCPY2D* copy) {
    return copy_2d(copy, nullptr, kOwn, kWhenDone);
}
CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D* copy) {
    return copy_2d(copy, nullptr, kLegacy, kWhenDone);
}
CUresult cuMemcpy2DUnaligned_v2_ptds(const CUDA_MEMCPY2D* copy) {
    return copy_2d(copy, nullptr, kOwn, kWhenDone);
}
CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* copy, CUstream stream) {
    return copy_2d(copy, stream, kLegacy, kAtOnce);
}
CUresult cuMemcpy2DAsync_v2_ptsz(const CUDA_MEMCPY2D* copy, CUstream stream) {
    return copy_2d(copy, stream, kOwn, kAtOnce);
}
CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D* copy) {
    return copy_3d(copy, nullptr, kLegacy, kWhenDone);
}
CUresult cuMemcpy3D_v2_ptds(const CUDA_MEMCPY3D* copy) {
    return copy_3d(copy, nullptr, kOwn, kWhenDone);
}
CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D* copy, CUstream stream) {
    return copy_3d(copy, stream, kLegacy, kAtOnce);
}
CUresult cuMemcpy3DAsync_v2_ptsz(const CUDA_MEMCPY3D* copy, CUstream stream) {
    return copy_3d(copy, stream, kOwn, kAtOnce);
}

// cuMemset: an element type, one row or several, in the default stream or in one that is named, each in the forms for
// both default streams.
#define EGPU_MEMSET_FORMS(bits, type)                                                                             \
    CUresult cuMemsetD##bits##_v2(CUdeviceptr to, type value, size_t count) {                                     \
        return fill(to, 0, value, bits / 8, count, 1, nullptr, kLegacy, kWhenDone);                               \
    }                                                                                                             \
    CUresult cuMemsetD##bits##_v2_ptds(CUdeviceptr to, type value, size_t count) {                                \
        return fill(to, 0, value, bits / 8, count, 1, nullptr, kOwn, kWhenDone);                                  \
    }                                                                                                             \
    CUresult cuMemsetD##bits##Async(CUdeviceptr to, type value, size_t count, CUstream stream) {                  \
        return fill(to, 0, value, bits / 8, count, 1, stream, kLegacy, kAtOnce);                                  \
    }                                                                                                             \
    CUresult cuMemsetD##bits##Async_ptsz(CUdeviceptr to, type value, size_t count, CUstream stream) {             \
        return fill(to, 0, value, bits / 8, count, 1, stream, kOwn, kAtOnce);                                     \
    }                                                                                                             \
    CUresult cuMemsetD2D##bits##_v2(CUdeviceptr to, size_t pitch, type value, size_t width, size_t height) {      \
        return fill(to, pitch, value, bits / 8, width, height, nullptr, kLegacy, kWhenDone);                      \
    }                                                                                                             \
    CUresult cuMemsetD2D##bits##_v2_ptds(CUdeviceptr to, size_t pitch, type value, size_t width, size_t height) { \
        return fill(to, pitch, value, bits / 8, width, height, nullptr, kOwn, kWhenDone);                         \
    }                                                                                                             \
    CUresult cuMemsetD2D##bits##Async(CUdeviceptr to, size_t pitch, type value, size_t width, size_t height,      \
                                      CUstream stream) {                                                          \
        return fill(to, pitch, value, bits / 8, width, height, stream, kLegacy, kAtOnce);                         \
    }                                                                                                             \
    CUresult cuMemsetD2D##bits##Async_ptsz(CUdeviceptr to, size_t pitch, type value, size_t width, size_t height, \
                                           CUstream stream) {                                                     \
        return fill(to, pitch, value, bits / 8, width, height, stream, kOwn, kAtOnce);                            \
    }

EGPU_MEMSET_FORMS(8, unsigned char)
EGPU_MEMSET_FORMS(16, unsigned short)
EGPU_MEMSET_FORMS(32, unsigned int)
