// SPDX-License-Identifier: Apache-2.0
// What textures and surfaces are made of: texels in device memory, and how they are fetched. An image is an array (row
// after row, slice after slice) or memory of the application, taken as one row or as rows with a pitch.
#pragma once

#include <array>
#include <cstdint>

namespace egpu::simulated {

enum class ChannelKind : std::uint8_t { unsigned_integer, signed_integer, floating };

/// Of each texel: 1, 2 or 4 channels of 8, 16 or 32 bits (of floats 16 or 32).
struct TexelFormat {
    ChannelKind kind = ChannelKind::floating;
    std::uint8_t channel_bytes = 4;
    std::uint8_t channels = 1;

    std::uint32_t bytes() const { return std::uint32_t{channel_bytes} * channels; }
    bool operator==(const TexelFormat&) const = default;
};

/// What an image was made as. To instructions it is width x height x slices, whatever it was made as.
enum class ImageKind : std::uint8_t {
    linear,   ///< memory of the application, one row
    pitched,  ///< memory of the application, rows
    one,
    two,
    three,
    one_layered,
    two_layered,
    cube,          ///< six slices: +x, -x, +y, -y, +z, -z
    cube_layered,  ///< six slices a cube
};

struct Image {
    std::uint64_t address = 0;
    TexelFormat format;
    ImageKind kind = ImageKind::two;
    std::uint32_t width = 1, height = 1, slices = 1;  ///< in texels; slices: depth, layers or faces
    std::uint64_t pitch = 0;                          ///< bytes from row to row

    std::uint64_t row_bytes() const { return std::uint64_t{width} * format.bytes(); }
    std::uint64_t slice_bytes() const { return pitch * height; }
    /// From the first texel to behind the last one.
    std::uint64_t bytes() const { return slice_bytes() * slices - (pitch - row_bytes()); }
};

enum class AddressMode : std::uint8_t { wrap, clamp, mirror, border };

struct Sampler {
    std::array<AddressMode, 3> address{AddressMode::clamp, AddressMode::clamp, AddressMode::clamp};
    bool linear = false;                  ///< texels around are weighted; else the nearest one is read
    bool normalized_coordinates = false;  ///< 0 to 1 is the whole image
    bool normalized_values = false;       ///< integers of 8 and 16 bits are read as -1 to 1, or 0 to 1
    std::array<float, 4> border{};        ///< of float values
};

/// A texture or surface object.
struct ImageObject {
    Image image;
    bool is_surface = false;
    Sampler sampler;  ///< of textures
};

}  // namespace egpu::simulated
