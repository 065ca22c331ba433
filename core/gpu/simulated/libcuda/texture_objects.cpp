// SPDX-License-Identifier: Apache-2.0
// cuTexObject* and cuSurfObject*: objects over arrays and linear or pitched memory.
#include "gpu/simulated/libcuda/driver.hpp"

#include <algorithm>

using namespace egpu::simulated;

namespace {

constexpr std::uint64_t kAddressAlignment = 512;  ///< CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT
constexpr std::size_t kPitchAlignment = 32;       ///< CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT
constexpr std::size_t kMostLinearTexels = std::size_t{1} << 28;
constexpr std::size_t kMostPitchedTexels = 131072;  ///< each way

CUresult refused(const char* what) {
    report(std::string(what) + ", which the simulated GPU has not got");
    return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult image_of_linear(const CUDA_RESOURCE_DESC& resource, Image& image) {
    const auto& linear = resource.res.linear;
    const auto format = texel_format(linear.format, linear.numChannels);
    if (!format || linear.devPtr == 0 || linear.devPtr % kAddressAlignment != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const std::size_t texels = linear.sizeInBytes / format->bytes();
    if (texels == 0 || texels > kMostLinearTexels) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    image = {linear.devPtr,           *format, ImageKind::linear, static_cast<std::uint32_t>(texels), 1, 1,
             texels * format->bytes()};
    return CUDA_SUCCESS;
}

CUresult image_of_pitched(const CUDA_RESOURCE_DESC& resource, Image& image) {
    const auto& rows = resource.res.pitch2D;
    const auto format = texel_format(rows.format, rows.numChannels);
    const bool sized =
        rows.width > 0 && rows.height > 0 && rows.width <= kMostPitchedTexels && rows.height <= kMostPitchedTexels;
    if (!format || !sized || rows.devPtr == 0 || rows.devPtr % kAddressAlignment != 0 ||
        rows.pitchInBytes % kPitchAlignment != 0 || rows.pitchInBytes < rows.width * format->bytes() ||
        rows.pitchInBytes > (std::size_t{1} << 31)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    image = {rows.devPtr,
             *format,
             ImageKind::pitched,
             static_cast<std::uint32_t>(rows.width),
             static_cast<std::uint32_t>(rows.height),
             1,
             rows.pitchInBytes};
    return CUDA_SUCCESS;
}

CUresult image_of(const CUDA_RESOURCE_DESC& resource, Driver& state, Image& image) {
    if (resource.flags != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (resource.resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY) {
        return refused("an object over a mipmapped array");
    }
    if (resource.resType == CU_RESOURCE_TYPE_ARRAY) {
        const std::shared_ptr<CudaArray> array = state.arrays.find(resource.res.array.hArray);
        image = array == nullptr ? Image{} : array->image;
        return array == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
    }
    CUresult error = resource.resType == CU_RESOURCE_TYPE_LINEAR    ? image_of_linear(resource, image)
                     : resource.resType == CU_RESOURCE_TYPE_PITCH2D ? image_of_pitched(resource, image)
                                                                    : CUDA_ERROR_INVALID_VALUE;
    if (error == CUDA_SUCCESS) {
        const std::optional<Allocation> memory = state.memory.find(image.address);
        error = memory && memory->contains(image.address, image.bytes()) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    }
    return error;
}

/// An address mode that is not there for coordinates in texels becomes clamp, as the driver has it.
std::optional<AddressMode> address_mode(CUaddress_mode mode, bool normalized) {
    switch (mode) {
        case CU_TR_ADDRESS_MODE_WRAP:
            return normalized ? AddressMode::wrap : AddressMode::clamp;
        case CU_TR_ADDRESS_MODE_CLAMP:
            return AddressMode::clamp;
        case CU_TR_ADDRESS_MODE_MIRROR:
            return normalized ? AddressMode::mirror : AddressMode::clamp;
        case CU_TR_ADDRESS_MODE_BORDER:
            return AddressMode::border;
    }
    return std::nullopt;
}

CUresult sampler_of(const CUDA_TEXTURE_DESC& texture, const Image& image, Sampler& sampler) {
    constexpr unsigned known =
        CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES | CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION;
    if ((texture.flags & CU_TRSF_SRGB) != 0) {
        return refused("a texture object with sRGB values");
    }
    if ((texture.flags & CU_TRSF_SEAMLESS_CUBEMAP) != 0) {
        return refused("a texture object that filters over the edges of a cube");
    }
    if ((texture.flags & ~known) != 0 || texture.filterMode > CU_TR_FILTER_MODE_LINEAR) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const bool is_float = image.format.kind == ChannelKind::floating;
    sampler.normalized_coordinates = (texture.flags & CU_TRSF_NORMALIZED_COORDINATES) != 0;
    sampler.normalized_values =
        !is_float && image.format.channel_bytes < 4 && (texture.flags & CU_TRSF_READ_AS_INTEGER) == 0;
    sampler.linear = texture.filterMode == CU_TR_FILTER_MODE_LINEAR;
    if (sampler.linear && !is_float && !sampler.normalized_values && image.kind != ImageKind::linear) {
        return CUDA_ERROR_INVALID_VALUE;  // integers are not weighted
    }
    for (unsigned axis = 0; axis < 3; ++axis) {
        const auto mode = address_mode(texture.addressMode[axis], sampler.normalized_coordinates);
        if (!mode) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        sampler.address[axis] = *mode;
    }
    std::copy_n(texture.borderColor, 4, sampler.border.begin());
    const bool colored = std::any_of(sampler.border.begin(), sampler.border.end(), [](float one) { return one != 0; });
    const bool bordered =
        std::find(sampler.address.begin(), sampler.address.end(), AddressMode::border) != sampler.address.end();
    if (colored && bordered && !is_float && !sampler.normalized_values) {
        return refused("a texture object of integers with a border color");
    }
    return CUDA_SUCCESS;
}

/// Adds an object to its device's and to the driver's table.
std::uint64_t keep(const ImageObject& object, OwnedImage owned, Driver& state, DriverContext& context) {
    owned.context = &context;
    owned.device = context.device;
    owned.is_surface = object.is_surface;
    const std::uint64_t handle = state.memory.of(context.device).images().add(object);
    const std::lock_guard lock(state.images_mutex);
    state.images.emplace(handle, owned);
    return handle;
}

CUresult destroy(std::uint64_t handle, bool is_surface) {
    return entry_in_context([&](Driver& state, DriverContext&) -> CUresult {
        const std::lock_guard lock(state.images_mutex);
        const auto found = state.images.find(handle);
        if (found == state.images.end() || found->second.is_surface != is_surface) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        state.memory.of(found->second.device).images().remove(handle);
        state.images.erase(found);
        return CUDA_SUCCESS;
    });
}

template <typename Description>
CUresult describe(std::uint64_t handle, bool is_surface, Description OwnedImage::*part, Description* description) {
    return entry_in_context([&](Driver& state, DriverContext&) -> CUresult {
        const std::lock_guard lock(state.images_mutex);
        const auto found = state.images.find(handle);
        if (description == nullptr || found == state.images.end() || found->second.is_surface != is_surface) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        *description = found->second.*part;
        return CUDA_SUCCESS;
    });
}

}  // namespace

namespace egpu::simulated {

void clear_images(const DriverContext& context, Driver& state) {
    const auto arrays = state.arrays.remove_if([&](const CudaArray& array) { return array.context == &context; });
    for (const std::shared_ptr<CudaArray>& array : arrays) {
        (void)state.memory.release(array->image.address);
    }
    const std::lock_guard lock(state.images_mutex);
    for (auto one = state.images.begin(); one != state.images.end();) {
        if (one->second.context == &context) {
            state.memory.of(one->second.device).images().remove(one->first);
            one = state.images.erase(one);
        } else {
            ++one;
        }
    }
}

}  // namespace egpu::simulated

CUresult cuTexObjectCreate(CUtexObject* handle, const CUDA_RESOURCE_DESC* resource, const CUDA_TEXTURE_DESC* texture,
                           const CUDA_RESOURCE_VIEW_DESC* view) {
    return entry_in_context([&](Driver& state, DriverContext& context) -> CUresult {
        if (handle == nullptr || resource == nullptr || texture == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        if (view != nullptr) {
            return refused("a texture object with a resource view");
        }
        ImageObject object;
        if (const CUresult error = image_of(*resource, state, object.image); error != CUDA_SUCCESS) {
            return error;
        }
        if (const CUresult error = sampler_of(*texture, object.image, object.sampler); error != CUDA_SUCCESS) {
            return error;
        }
        *handle = keep(object, {nullptr, 0, false, *resource, *texture}, state, context);
        return CUDA_SUCCESS;
    });
}

CUresult cuSurfObjectCreate(CUsurfObject* handle, const CUDA_RESOURCE_DESC* resource) {
    return entry_in_context([&](Driver& state, DriverContext& context) -> CUresult {
        if (handle == nullptr || resource == nullptr || resource->resType != CU_RESOURCE_TYPE_ARRAY) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        ImageObject object;
        object.is_surface = true;
        if (const CUresult error = image_of(*resource, state, object.image); error != CUDA_SUCCESS) {
            return error;
        }
        const std::shared_ptr<CudaArray> array = state.arrays.find(resource->res.array.hArray);
        if (array == nullptr || (array->shape.Flags & CUDA_ARRAY3D_SURFACE_LDST) == 0) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        *handle = keep(object, {nullptr, 0, true, *resource, {}}, state, context);
        return CUDA_SUCCESS;
    });
}

CUresult cuTexObjectDestroy(CUtexObject handle) {
    return destroy(handle, false);
}
CUresult cuSurfObjectDestroy(CUsurfObject handle) {
    return destroy(handle, true);
}
CUresult cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC* resource, CUtexObject handle) {
    return describe(handle, false, &OwnedImage::resource, resource);
}
CUresult cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC* texture, CUtexObject handle) {
    return describe(handle, false, &OwnedImage::texture, texture);
}
CUresult cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC* resource, CUsurfObject handle) {
    return describe(handle, true, &OwnedImage::resource, resource);
}
