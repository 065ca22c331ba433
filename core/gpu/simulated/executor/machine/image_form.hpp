// SPDX-License-Identifier: Apache-2.0
// What the texture and surface instructions are: geometry, coordinates, results.
#pragma once

#include <cstdint>

namespace egpu::simulated {

/// .1d .2d .3d .a1d .a2d .cube .acube: which coordinates there are, and what they mean.
struct Geometry {
    std::uint8_t dimensions = 2;  ///< coordinates that are filtered; cubes: 3, a direction
    bool layered = false;         ///< a layer (of acube: a cube) stands before them
    bool cube = false;

    unsigned coordinates() const { return dimensions + (layered ? 1U : 0U); }
};

/// How a fetch gives its four values.
enum class FetchResult : std::uint8_t {
    words,   ///< 32 bits each, as the texture has them: floats, or integers extended
    halves,  ///< .v4.f16
    pairs,   ///< .v2.f16x2
};

/// Where a surface access lies outside.
enum class Outside : std::uint8_t { trap, clamp, zero };

enum class ImageQuery : std::uint8_t { width, height, depth, array_size, normalized };

/// One instruction. Its registers are the rows in Program::places from Instruction::list on: the object, coordinates
/// (the layer first), then results, or the values of a store.
struct ImageForm {
    Geometry geometry;
    bool whole_coordinates = false;  ///< .s32: texels are read, whatever the sampler
    FetchResult result = FetchResult::words;
    std::uint8_t component = 0;  ///< tld4: which channel
    Outside outside = Outside::trap;
    std::uint8_t element_bytes = 4, vector = 1;  ///< surfaces
    bool wide = false;                           ///< surfaces: registers are 64 bits wide
    ImageQuery query = ImageQuery::width;
};

}  // namespace egpu::simulated
