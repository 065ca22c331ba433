// SPDX-License-Identifier: Apache-2.0
// Texture and surface objects: the runtime's descriptions become the driver's.
#include <algorithm>

#include "gpu/simulated/libcudart/channels.hpp"
#include "gpu/simulated/libcudart/entry.hpp"

using namespace egpu::simulated::runtime;

namespace {

cudaError_t driver_resource(const cudaResourceDesc& from, CUDA_RESOURCE_DESC& to) {
    to.resType = from.resType;
    to.flags = from.flags;
    switch (from.resType) {
        case CU_RESOURCE_TYPE_ARRAY:
            to.res.array.hArray = from.res.array.array;
            return cudaSuccess;
        case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
            to.res.mipmap.hMipmappedArray = from.res.mipmap.mipmap;
            return cudaSuccess;
        case CU_RESOURCE_TYPE_LINEAR:
            to.res.linear.devPtr = reinterpret_cast<CUdeviceptr>(from.res.linear.devPtr);
            to.res.linear.sizeInBytes = from.res.linear.sizeInBytes;
            return driver_format(from.res.linear.desc, to.res.linear.format, to.res.linear.numChannels)
                       ? cudaSuccess
                       : cudaErrorInvalidChannelDescriptor;
        case CU_RESOURCE_TYPE_PITCH2D:
            to.res.pitch2D.devPtr = reinterpret_cast<CUdeviceptr>(from.res.pitch2D.devPtr);
            to.res.pitch2D.width = from.res.pitch2D.width;
            to.res.pitch2D.height = from.res.pitch2D.height;
            to.res.pitch2D.pitchInBytes = from.res.pitch2D.pitchInBytes;
            return driver_format(from.res.pitch2D.desc, to.res.pitch2D.format, to.res.pitch2D.numChannels)
                       ? cudaSuccess
                       : cudaErrorInvalidChannelDescriptor;
    }
    return cudaErrorInvalidValue;
}

CUDA_TEXTURE_DESC driver_texture(const cudaTextureDesc& from) {
    CUDA_TEXTURE_DESC to{};
    std::copy_n(from.addressMode, 3, to.addressMode);
    to.filterMode = from.filterMode;
    to.flags = (from.readMode == cudaReadModeElementType ? CU_TRSF_READ_AS_INTEGER : 0U) |
               (from.normalizedCoords != 0 ? CU_TRSF_NORMALIZED_COORDINATES : 0U) |
               (from.sRGB != 0 ? CU_TRSF_SRGB : 0U) |
               (from.disableTrilinearOptimization != 0 ? CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION : 0U) |
               (from.seamlessCubemap != 0 ? CU_TRSF_SEAMLESS_CUBEMAP : 0U);
    to.maxAnisotropy = from.maxAnisotropy;
    to.mipmapFilterMode = from.mipmapFilterMode;
    to.mipmapLevelBias = from.mipmapLevelBias;
    to.minMipmapLevelClamp = from.minMipmapLevelClamp;
    to.maxMipmapLevelClamp = from.maxMipmapLevelClamp;
    std::copy_n(from.borderColor, 4, to.borderColor);
    return to;
}

/// Of the resource's texels.
cudaError_t channels_of_resource(Runtime& state, const CUDA_RESOURCE_DESC& resource, cudaChannelFormatDesc& channels) {
    CUDA_ARRAY3D_DESCRIPTOR shape{};
    switch (resource.resType) {
        case CU_RESOURCE_TYPE_ARRAY:
            if (const CUresult error = state.driver.cuArray3DGetDescriptor(&shape, resource.res.array.hArray);
                error != CUDA_SUCCESS) {
                return from_driver(error);
            }
            channels = channels_of(shape.Format, shape.NumChannels);
            return cudaSuccess;
        case CU_RESOURCE_TYPE_LINEAR:
            channels = channels_of(resource.res.linear.format, 1);
            return cudaSuccess;
        case CU_RESOURCE_TYPE_PITCH2D:
            channels = channels_of(resource.res.pitch2D.format, 1);
            return cudaSuccess;
        default:
            return cudaErrorNotSupported;
    }
}

/// What the runtime says before it asks the driver.
cudaError_t check_reading(Runtime& state, const CUDA_RESOURCE_DESC& resource, const cudaTextureDesc& texture) {
    cudaChannelFormatDesc channels{};
    if (const cudaError_t error = channels_of_resource(state, resource, channels); error != cudaSuccess) {
        return error;
    }
    const bool is_float = channels.f == cudaChannelFormatKindFloat;
    const bool normalized = texture.readMode == cudaReadModeNormalizedFloat;
    if (normalized && !is_float && channels.x == 32) {
        return cudaErrorInvalidNormSetting;
    }
    const bool filters = texture.filterMode == CU_TR_FILTER_MODE_LINEAR && resource.resType != CU_RESOURCE_TYPE_LINEAR;
    return filters && !is_float && !normalized ? cudaErrorInvalidFilterSetting : cudaSuccess;
}

}  // namespace

ENTRY cudaError_t cudaCreateTextureObject(cudaTextureObject_t* object, const cudaResourceDesc* resource,
                                          const cudaTextureDesc* texture, const CUDA_RESOURCE_VIEW_DESC* view) {
    return call([&](Runtime& state) -> cudaError_t {
        if (object == nullptr || resource == nullptr || texture == nullptr) {
            return cudaErrorInvalidValue;
        }
        CUDA_RESOURCE_DESC from{};
        if (const cudaError_t error = driver_resource(*resource, from); error != cudaSuccess) {
            return error;
        }
        if (resource->resType != CU_RESOURCE_TYPE_MIPMAPPED_ARRAY) {
            if (const cudaError_t error = check_reading(state, from, *texture); error != cudaSuccess) {
                return error;
            }
        }
        const CUDA_TEXTURE_DESC how = driver_texture(*texture);
        return from_driver(state.driver.cuTexObjectCreate(object, &from, &how, view));
    });
}
ENTRY cudaError_t cudaDestroyTextureObject(cudaTextureObject_t object) {
    return call_driver([&](const DriverCalls& driver) { return driver.cuTexObjectDestroy(object); });
}

ENTRY cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t* object, const cudaResourceDesc* resource) {
    return call([&](Runtime& state) -> cudaError_t {
        if (object == nullptr || resource == nullptr) {
            return cudaErrorInvalidValue;
        }
        CUDA_RESOURCE_DESC from{};
        const cudaError_t error = driver_resource(*resource, from);
        return error != cudaSuccess ? error : from_driver(state.driver.cuSurfObjectCreate(object, &from));
    });
}
ENTRY cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t object) {
    return call_driver([&](const DriverCalls& driver) { return driver.cuSurfObjectDestroy(object); });
}
