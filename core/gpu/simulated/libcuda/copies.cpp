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

CUresult copy_in(CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream, DefaultStream zero) {
    return on_stream(stream, zero, [&](Driver& state, Context&, Stream&) -> CUresult {
        if (bytes == 0) {
            return CUDA_SUCCESS;
        }
        return from == nullptr ? CUDA_ERROR_INVALID_VALUE : result(state.memory.copy_in(to, from, bytes));
    });
}

CUresult copy_out(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream, DefaultStream zero) {
    return on_stream(stream, zero, [&](Driver& state, Context&, Stream&) -> CUresult {
        if (bytes == 0) {
            return CUDA_SUCCESS;
        }
        return to == nullptr ? CUDA_ERROR_INVALID_VALUE : result(state.memory.copy_out(to, from, bytes));
    });
}

CUresult copy_device(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream, DefaultStream zero) {
    return on_stream(stream, zero, [&](Driver& state, Context&, Stream&) -> CUresult {
        return bytes == 0 ? CUDA_SUCCESS : result(state.memory.copy(to, from, bytes));
    });
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

CUresult copy_any(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream, DefaultStream zero) {
    return on_stream(stream, zero,
                     [&](Driver& state, Context&, Stream&) { return copy_unified(to, from, bytes, state); });
}

CUresult copy_peer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, std::size_t bytes,
                   CUstream stream, DefaultStream zero) {
    return on_stream(stream, zero, [&](Driver& state, Context&, Stream&) -> CUresult {
        if (state.contexts.find(to_context) == nullptr || state.contexts.find(from_context) == nullptr) {
            return CUDA_ERROR_INVALID_CONTEXT;
        }
        return bytes == 0 ? CUDA_SUCCESS : result(state.memory.copy(to, from, bytes));
    });
}

/// One side of a copy of rows: where row (y, z) begins.
struct Side {
    CUmemorytype type;
    std::uint64_t base;
    std::size_t x;
    std::size_t y;
    std::size_t z;
    std::size_t pitch;
    std::size_t height;  ///< rows of a slice

    std::uint64_t row(std::size_t at_y, std::size_t at_z) const {
        return base + x + ((z + at_z) * height + y + at_y) * pitch;
    }
};

CUresult check_side(const Side& side, std::size_t width, std::size_t height, std::size_t depth) {
    if (side.type == CU_MEMORYTYPE_ARRAY) {
        report("a copy names a CUDA array, which the simulated GPU has not got");
        return CUDA_ERROR_NOT_SUPPORTED;
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
    if (from_host && to.type == CU_MEMORYTYPE_DEVICE) {
        return result(state.memory.copy_in(to_row, reinterpret_cast<const void*>(from_row), width));
    }
    if (to_host && from.type == CU_MEMORYTYPE_DEVICE) {
        return result(state.memory.copy_out(reinterpret_cast<void*>(to_row), from_row, width));
    }
    return copy_unified(to_row, from_row, width, state);
}

CUresult copy_rows(Side to, Side from, std::size_t width, std::size_t height, std::size_t depth, CUstream stream,
                   DefaultStream zero) {
    return on_stream(stream, zero, [&](Driver& state, Context&, Stream&) -> CUresult {
        for (Side* side : {&to, &from}) {
            side->pitch = side->pitch == 0 ? side->x + width : side->pitch;
            side->height = side->height == 0 ? side->y + height : side->height;
            if (const CUresult error = check_side(*side, width, height, depth); error != CUDA_SUCCESS) {
                return error;
            }
        }
        if (width == 0 || height == 0 || depth == 0) {
            return CUDA_SUCCESS;
        }
        if (to.base == 0 || from.base == 0) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        for (std::size_t z = 0; z < depth; ++z) {
            for (std::size_t y = 0; y < height; ++y) {
                const CUresult error = copy_row(to, from, to.row(y, z), from.row(y, z), width, state);
                if (error != CUDA_SUCCESS) {
                    return error;
                }
            }
        }
        return CUDA_SUCCESS;
    });
}

std::uint64_t base_of(CUmemorytype type, const void* host, CUdeviceptr device) {
    return type == CU_MEMORYTYPE_HOST ? reinterpret_cast<std::uint64_t>(host) : device;
}

CUresult copy_2d(const CUDA_MEMCPY2D* copy, CUstream stream, DefaultStream zero) {
    if (copy == nullptr) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const Side to{copy->dstMemoryType,
                  base_of(copy->dstMemoryType, copy->dstHost, copy->dstDevice),
                  copy->dstXInBytes,
                  copy->dstY,
                  0,
                  copy->dstPitch,
                  0};
    const Side from{copy->srcMemoryType,
                    base_of(copy->srcMemoryType, copy->srcHost, copy->srcDevice),
                    copy->srcXInBytes,
                    copy->srcY,
                    0,
                    copy->srcPitch,
                    0};
    return copy_rows(to, from, copy->WidthInBytes, copy->Height, 1, stream, zero);
}

CUresult copy_3d(const CUDA_MEMCPY3D* copy, CUstream stream, DefaultStream zero) {
    if (copy == nullptr || copy->srcLOD != 0 || copy->dstLOD != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const Side to{copy->dstMemoryType, base_of(copy->dstMemoryType, copy->dstHost, copy->dstDevice),
                  copy->dstXInBytes,   copy->dstY,
                  copy->dstZ,          copy->dstPitch,
                  copy->dstHeight};
    const Side from{copy->srcMemoryType, base_of(copy->srcMemoryType, copy->srcHost, copy->srcDevice),
                    copy->srcXInBytes,   copy->srcY,
                    copy->srcZ,          copy->srcPitch,
                    copy->srcHeight};
    return copy_rows(to, from, copy->WidthInBytes, copy->Height, copy->Depth, stream, zero);
}

/// `rows` rows of `count` elements of `width` bytes.
CUresult fill(CUdeviceptr to, std::size_t pitch, std::uint64_t value, std::uint32_t width, std::size_t count,
              std::size_t rows, CUstream stream, DefaultStream zero) {
    return on_stream(stream, zero, [&](Driver& state, Context&, Stream&) -> CUresult {
        constexpr std::size_t most = std::size_t{1} << 40;
        if (count > most || rows > most || (rows > 1 && (pitch < count * width || pitch > most / rows)) ||
            to % width != 0 || (rows > 1 && pitch % width != 0)) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        for (std::size_t row = 0; row < rows && count > 0; ++row) {
            if (!state.memory.fill(to + row * pitch, value, width, count)) {
                return CUDA_ERROR_INVALID_VALUE;
            }
        }
        return CUDA_SUCCESS;
    });
}

}  // namespace

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    return copy_any(to, from, bytes, nullptr, kLegacy);
}
CUresult cuMemcpy_ptds(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    return copy_any(to, from, bytes, nullptr, kOwn);
}
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    return copy_any(to, from, bytes, stream, kLegacy);
}
CUresult cuMemcpyAsync_ptsz(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    return copy_any(to, from, bytes, stream, kOwn);
}
CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t bytes) {
    return copy_in(to, from, bytes, nullptr, kLegacy);
}
CUresult cuMemcpyHtoD_v2_ptds(CUdeviceptr to, const void* from, size_t bytes) {
    return copy_in(to, from, bytes, nullptr, kOwn);
}
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
    return copy_in(to, from, bytes, stream, kLegacy);
}
CUresult cuMemcpyHtoDAsync_v2_ptsz(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
    return copy_in(to, from, bytes, stream, kOwn);
}
CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t bytes) {
    return copy_out(to, from, bytes, nullptr, kLegacy);
}
CUresult cuMemcpyDtoH_v2_ptds(void* to, CUdeviceptr from, size_t bytes) {
    return copy_out(to, from, bytes, nullptr, kOwn);
}
CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
    return copy_out(to, from, bytes, stream, kLegacy);
}
CUresult cuMemcpyDtoHAsync_v2_ptsz(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
    return copy_out(to, from, bytes, stream, kOwn);
}
CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    return copy_device(to, from, bytes, nullptr, kLegacy);
}
CUresult cuMemcpyDtoD_v2_ptds(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    return copy_device(to, from, bytes, nullptr, kOwn);
}
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    return copy_device(to, from, bytes, stream, kLegacy);
}
CUresult cuMemcpyDtoDAsync_v2_ptsz(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    return copy_device(to, from, bytes, stream, kOwn);
}
CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes) {
    return copy_peer(to, to_context, from, from_context, bytes, nullptr, kLegacy);
}
CUresult cuMemcpyPeer_ptds(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                           size_t bytes) {
    return copy_peer(to, to_context, from, from_context, bytes, nullptr, kOwn);
}
CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes,
                           CUstream stream) {
    return copy_peer(to, to_context, from, from_context, bytes, stream, kLegacy);
}
CUresult cuMemcpyPeerAsync_ptsz(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                                size_t bytes, CUstream stream) {
    return copy_peer(to, to_context, from, from_context, bytes, stream, kOwn);
}
CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D* copy) {
    return copy_2d(copy, nullptr, kLegacy);
}
CUresult cuMemcpy2D_v2_ptds(const CUDA_MEMCPY2D* copy) {
    return copy_2d(copy, nullptr, kOwn);
}
CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D* copy) {
    return copy_2d(copy, nullptr, kLegacy);
}
CUresult cuMemcpy2DUnaligned_v2_ptds(const CUDA_MEMCPY2D* copy) {
    return copy_2d(copy, nullptr, kOwn);
}
CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* copy, CUstream stream) {
    return copy_2d(copy, stream, kLegacy);
}
CUresult cuMemcpy2DAsync_v2_ptsz(const CUDA_MEMCPY2D* copy, CUstream stream) {
    return copy_2d(copy, stream, kOwn);
}
CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D* copy) {
    return copy_3d(copy, nullptr, kLegacy);
}
CUresult cuMemcpy3D_v2_ptds(const CUDA_MEMCPY3D* copy) {
    return copy_3d(copy, nullptr, kOwn);
}
CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D* copy, CUstream stream) {
    return copy_3d(copy, stream, kLegacy);
}
CUresult cuMemcpy3DAsync_v2_ptsz(const CUDA_MEMCPY3D* copy, CUstream stream) {
    return copy_3d(copy, stream, kOwn);
}

// cuMemset: an element type, one row or several, in the default stream or in one that is named, each in the forms for
// both default streams.
#define EGPU_MEMSET_FORMS(bits, type)                                                                             \
    CUresult cuMemsetD##bits##_v2(CUdeviceptr to, type value, size_t count) {                                     \
        return fill(to, 0, value, bits / 8, count, 1, nullptr, kLegacy);                                          \
    }                                                                                                             \
    CUresult cuMemsetD##bits##_v2_ptds(CUdeviceptr to, type value, size_t count) {                                \
        return fill(to, 0, value, bits / 8, count, 1, nullptr, kOwn);                                             \
    }                                                                                                             \
    CUresult cuMemsetD##bits##Async(CUdeviceptr to, type value, size_t count, CUstream stream) {                  \
        return fill(to, 0, value, bits / 8, count, 1, stream, kLegacy);                                           \
    }                                                                                                             \
    CUresult cuMemsetD##bits##Async_ptsz(CUdeviceptr to, type value, size_t count, CUstream stream) {             \
        return fill(to, 0, value, bits / 8, count, 1, stream, kOwn);                                              \
    }                                                                                                             \
    CUresult cuMemsetD2D##bits##_v2(CUdeviceptr to, size_t pitch, type value, size_t width, size_t height) {      \
        return fill(to, pitch, value, bits / 8, width, height, nullptr, kLegacy);                                 \
    }                                                                                                             \
    CUresult cuMemsetD2D##bits##_v2_ptds(CUdeviceptr to, size_t pitch, type value, size_t width, size_t height) { \
        return fill(to, pitch, value, bits / 8, width, height, nullptr, kOwn);                                    \
    }                                                                                                             \
    CUresult cuMemsetD2D##bits##Async(CUdeviceptr to, size_t pitch, type value, size_t width, size_t height,      \
                                      CUstream stream) {                                                          \
        return fill(to, pitch, value, bits / 8, width, height, stream, kLegacy);                                  \
    }                                                                                                             \
    CUresult cuMemsetD2D##bits##Async_ptsz(CUdeviceptr to, size_t pitch, type value, size_t width, size_t height, \
                                           CUstream stream) {                                                     \
        return fill(to, pitch, value, bits / 8, width, height, stream, kOwn);                                     \
    }

EGPU_MEMSET_FORMS(8, unsigned char)
EGPU_MEMSET_FORMS(16, unsigned short)
EGPU_MEMSET_FORMS(32, unsigned int)
