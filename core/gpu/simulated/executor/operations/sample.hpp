// SPDX-License-Identifier: Apache-2.0
// From coordinates to a texture's value (CUDA C++ Programming Guide, "Texture Fetching").
//
// A coordinate is a number of texels (normalized ones are multiplied by the size). Point: the texel floor(x). Linear:
// x - 0.5, rounded to 8 fractional bits, is the first of two texels and the weight of the second; weighted sums are
// exact and rounded once. Each texel's index goes through the address mode of its axis.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "gpu/simulated/memory/image.hpp"

namespace egpu::simulated {

/// An image whose bytes are at hand. `host`: of the first texel.
struct ImageView {
    const Image* image = nullptr;
    const Sampler* sampler = nullptr;
    std::byte* host = nullptr;
};

/// Floats, or integers extended to 32 bits; channels that the image lacks are 0, 0 and 1.
using Texel = std::array<std::uint32_t, 4>;

struct Position {
    double x = 0, y = 0, z = 0;  ///< z: among slices
    unsigned dimensions = 2;     ///< those behind are 0
    bool z_is_slice = false;     ///< z is the number of a slice, clamped to those that there are
};

Texel sample(const ImageView& view, const Position& at);
/// One channel of the four texels that a linear fetch weighs: (0, 1), (1, 1), (1, 0), (0, 0).
Texel gather(const ImageView& view, const Position& at, unsigned component);
/// The texel there, or zeros where there is none.
Texel texel_at(const ImageView& view, std::int64_t x, std::int64_t y, std::int64_t z);

/// Where a direction meets a cube: face and coordinates of 0 to 1 on it. Of equal components z wins over y over x.
struct CubePoint {
    unsigned face = 0;
    double s = 0, t = 0;
};
CubePoint cube_point(float x, float y, float z);

}  // namespace egpu::simulated
