// SPDX-License-Identifier: Apache-2.0
// CUDA arrays, and the texture and surface objects over them. An array is an allocation like any other, its texels row
// after row, slice after slice; only its handle tells it from memory.
#pragma once

#include <cstdint>
#include <optional>

#include "gpu/device/driver.h"
#include "gpu/simulated/memory/image.hpp"

namespace egpu::simulated {

struct Driver;
struct DriverContext;

struct CudaArray {
    DriverContext* context = nullptr;
    CUDA_ARRAY3D_DESCRIPTOR shape{};  ///< as it was made
    Image image;
};

/// A texture or surface object, as it was made.
struct OwnedImage {
    DriverContext* context = nullptr;
    int device = 0;
    bool is_surface = false;
    CUDA_RESOURCE_DESC resource{};
    CUDA_TEXTURE_DESC texture{};
};

/// The format of texels; nothing where the simulated GPU has not got it.
std::optional<TexelFormat> texel_format(CUarray_format format, unsigned channels);
/// Destroys the arrays and objects of a context.
void clear_images(const DriverContext& context, Driver& state);

}  // namespace egpu::simulated
