// SPDX-License-Identifier: Apache-2.0
// cuArray*: arrays in the device's memory.
#include "gpu/simulated/libcuda/arrays.hpp"

#include "gpu/simulated/libcuda/driver.hpp"
#include "gpu/simulated/libcuda/streams.hpp"

using namespace egpu::simulated;

namespace {

/// CUDA C++ Programming Guide, "Technical Specifications per Compute Capability", 9.0.
constexpr std::size_t kWidest = 131072;
constexpr std::size_t kHighest = 65536;
constexpr std::size_t kDeepest = 16384;
constexpr std::size_t kLayers = 2048;
constexpr std::size_t kFacesOfCubes = 2046;
constexpr std::size_t kRowAlignment = 16;  ///< the widest access to a surface
constexpr unsigned kKnownFlags =
    CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_TEXTURE_GATHER;

/// Which kind a description means; nothing where its sizes are none (cuArray3DCreate).
std::optional<ImageKind> kind_of(const CUDA_ARRAY3D_DESCRIPTOR& shape) {
    const bool layered = (shape.Flags & CUDA_ARRAY3D_LAYERED) != 0;
    if (shape.Width == 0 || shape.Width > kWidest || shape.Height > kHighest) {
        return std::nullopt;
    }
    if ((shape.Flags & CUDA_ARRAY3D_CUBEMAP) != 0) {
        const bool cubes = layered ? shape.Depth % 6 == 0 && shape.Depth <= kFacesOfCubes : shape.Depth == 6;
        return shape.Width == shape.Height && shape.Depth != 0 && cubes
                   ? std::optional(layered ? ImageKind::cube_layered : ImageKind::cube)
                   : std::nullopt;
    }
    if (layered) {
        const ImageKind kind = shape.Height == 0 ? ImageKind::one_layered : ImageKind::two_layered;
        return shape.Depth != 0 && shape.Depth <= kLayers ? std::optional(kind) : std::nullopt;
    }
    if (shape.Depth == 0) {
        return shape.Height == 0 ? ImageKind::one : ImageKind::two;
    }
    const bool solid =
        shape.Height != 0 && shape.Width <= kDeepest && shape.Height <= kDeepest && shape.Depth <= kDeepest;
    return solid ? std::optional(ImageKind::three) : std::nullopt;
}

CUresult create(CUarray* handle, const CUDA_ARRAY3D_DESCRIPTOR& shape) {
    return entry_that_waits([&](Driver& state, DriverContext& context) -> CUresult {
        const std::optional<ImageKind> kind = kind_of(shape);
        const bool some_channels = shape.NumChannels == 1 || shape.NumChannels == 2 || shape.NumChannels == 4;
        if (handle == nullptr || !kind || !some_channels) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        const std::optional<TexelFormat> format = texel_format(shape.Format, shape.NumChannels);
        if (!format || (shape.Flags & ~kKnownFlags) != 0) {
            report("cuArray3DCreate with format " + std::to_string(shape.Format) + " and flags " +
                   std::to_string(shape.Flags) +
                   ": the simulated GPU has integers and floats of 8 to 32 bits, and no sparse arrays");
            return CUDA_ERROR_NOT_SUPPORTED;
        }
        const auto size = [](std::size_t given) { return given == 0 ? 1U : static_cast<std::uint32_t>(given); };
        auto array = std::make_shared<CudaArray>();
        array->context = &context;
        array->shape = shape;
        array->image = {0,
                        *format,
                        *kind,
                        size(shape.Width),
                        size(shape.Height),
                        size(shape.Depth),
                        (shape.Width * format->bytes() + kRowAlignment - 1) / kRowAlignment * kRowAlignment};
        const LoadGate::Work work(context.loads);
        const auto memory = state.memory.of(context.device).allocate(array->image.bytes(), 512);
        if (!memory) {
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
        array->image.address = *memory;
        state.arrays.add(array);
        *handle = reinterpret_cast<CUarray>(array.get());
        return CUDA_SUCCESS;
    });
}

}  // namespace

namespace egpu::simulated {

std::optional<TexelFormat> texel_format(CUarray_format format, unsigned channels) {
    if (channels != 1 && channels != 2 && channels != 4) {
        return std::nullopt;
    }
    const auto of = [&](ChannelKind kind, unsigned bytes) {
        return TexelFormat{kind, static_cast<std::uint8_t>(bytes), static_cast<std::uint8_t>(channels)};
    };
    switch (format) {
        case CU_AD_FORMAT_UNSIGNED_INT8:
            return of(ChannelKind::unsigned_integer, 1);
        case CU_AD_FORMAT_UNSIGNED_INT16:
            return of(ChannelKind::unsigned_integer, 2);
        case CU_AD_FORMAT_UNSIGNED_INT32:
            return of(ChannelKind::unsigned_integer, 4);
        case CU_AD_FORMAT_SIGNED_INT8:
            return of(ChannelKind::signed_integer, 1);
        case CU_AD_FORMAT_SIGNED_INT16:
            return of(ChannelKind::signed_integer, 2);
        case CU_AD_FORMAT_SIGNED_INT32:
            return of(ChannelKind::signed_integer, 4);
        case CU_AD_FORMAT_HALF:
            return of(ChannelKind::floating, 2);
        case CU_AD_FORMAT_FLOAT:
            return of(ChannelKind::floating, 4);
        default:
            return std::nullopt;
    }
}

}  // namespace egpu::simulated

CUresult cuArrayCreate_v2(CUarray* handle, const CUDA_ARRAY_DESCRIPTOR* shape) {
    if (shape == nullptr) {
        return initialised() ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NOT_INITIALIZED;
    }
    return create(handle, {shape->Width, shape->Height, 0, shape->Format, shape->NumChannels, 0});
}

CUresult cuArray3DCreate_v2(CUarray* handle, const CUDA_ARRAY3D_DESCRIPTOR* shape) {
    if (shape == nullptr) {
        return initialised() ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NOT_INITIALIZED;
    }
    return create(handle, *shape);
}

CUresult cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR* shape, CUarray handle) {
    return entry_in_context([&](Driver& state, DriverContext&) -> CUresult {
        const std::shared_ptr<CudaArray> array = state.arrays.find(handle);
        if (shape == nullptr || array == nullptr) {
            return array == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;
        }
        *shape = array->shape;
        return CUDA_SUCCESS;
    });
}

CUresult cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR* shape, CUarray handle) {
    CUDA_ARRAY3D_DESCRIPTOR whole{};
    const CUresult error = cuArray3DGetDescriptor_v2(shape == nullptr ? nullptr : &whole, handle);
    if (error == CUDA_SUCCESS) {
        *shape = {whole.Width, whole.Height, whole.Format, whole.NumChannels};
    }
    return error;
}

CUresult cuArrayDestroy(CUarray handle) {
    return entry_that_waits([&](Driver& state, DriverContext& context) -> CUresult {
        // As freeing memory does, it waits for what runs.
        const StreamOrder order(find_stream(nullptr, DefaultStream::legacy, context));
        const std::shared_ptr<CudaArray> array = state.arrays.remove(handle);
        if (array == nullptr) {
            return CUDA_ERROR_INVALID_HANDLE;
        }
        return state.memory.release(array->image.address) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
    });
}
