// SPDX-License-Identifier: Apache-2.0
#include "gpu/simulated/executor/operations/sample.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "gpu/simulated/executor/operations/half_value.hpp"

namespace egpu::simulated {
namespace {

constexpr std::int64_t kOutside = -1;          ///< the border
constexpr double kFarthest = 1099511627776.0;  // 2^40: behind every image, within every integer used here
constexpr int kFractionBits = 8;

double finite(double coordinate) {
    return std::isnan(coordinate) ? 0 : std::clamp(coordinate, -kFarthest, kFarthest);
}

std::int64_t addressed(std::int64_t index, std::int64_t size, AddressMode mode) {
    const auto wrapped = [index](std::int64_t period) { return ((index % period) + period) % period; };
    switch (mode) {
        case AddressMode::wrap:
            return wrapped(size);
        case AddressMode::mirror:
            return std::min(wrapped(2 * size), 2 * size - 1 - wrapped(2 * size));
        case AddressMode::border:
            return index < 0 || index >= size ? kOutside : index;
        case AddressMode::clamp:
            break;
    }
    return std::clamp<std::int64_t>(index, 0, size - 1);
}

/// The texels of one axis: one, or two of which the second has a weight in 256ths.
struct Axis {
    std::int64_t first = 0, second = 0;
    unsigned weight = 0;
};

Axis nearest(double coordinate, std::uint32_t size, AddressMode mode) {
    const auto index = static_cast<std::int64_t>(std::floor(finite(coordinate)));
    return {addressed(index, size, mode), 0, 0};
}

Axis around(double coordinate, std::uint32_t size, AddressMode mode) {
    const auto fixed = static_cast<std::int64_t>(std::floor((finite(coordinate) - 0.5) * (1 << kFractionBits) + 0.5));
    const std::int64_t index = fixed >> kFractionBits;
    return {addressed(index, size, mode), addressed(index + 1, size, mode),
            static_cast<unsigned>(fixed & ((1 << kFractionBits) - 1))};
}

struct Axes {
    Axis x, y, z;
};

/// Axes that the instruction has not are the first texel's.
Axes axes_of(const ImageView& view, const Position& at, bool linear) {
    const Image& image = *view.image;
    const Sampler& sampler = *view.sampler;
    // Memory of one row has no sampler but this (cuTexObjectCreate).
    const bool filters = linear && image.kind != ImageKind::linear;
    const auto axis = [&](double coordinate, std::uint32_t size, unsigned number) {
        const double texels = sampler.normalized_coordinates ? coordinate * size : coordinate;
        const AddressMode mode = image.kind == ImageKind::linear ? AddressMode::border : sampler.address[number];
        return filters ? around(texels, size, mode) : nearest(texels, size, mode);
    };
    Axes axes;
    axes.x = axis(at.x, image.width, 0);
    if (at.dimensions > 1) {
        axes.y = axis(at.y, image.height, 1);
    }
    if (at.z_is_slice) {
        axes.z.first = std::clamp<std::int64_t>(static_cast<std::int64_t>(at.z), 0, std::int64_t{image.slices} - 1);
    } else if (at.dimensions > 2) {
        axes.z = axis(at.z, image.slices, 2);
    }
    return axes;
}

template <typename T>
T channel_at(const std::byte* pointer) {
    return __atomic_load_n(reinterpret_cast<const T*>(pointer), __ATOMIC_RELAXED);  // kernels may write it meanwhile
}

std::uint32_t bits_of(float value) {
    return std::bit_cast<std::uint32_t>(value);
}

/// One channel as it is in memory.
std::uint32_t raw_channel(const std::byte* pointer, TexelFormat format) {
    const bool extend = format.kind == ChannelKind::signed_integer;
    switch (format.channel_bytes) {
        case 1:
            return extend ? static_cast<std::uint32_t>(channel_at<std::int8_t>(pointer))
                          : channel_at<std::uint8_t>(pointer);
        case 2:
            return extend ? static_cast<std::uint32_t>(channel_at<std::int16_t>(pointer))
                          : channel_at<std::uint16_t>(pointer);
        default:
            return channel_at<std::uint32_t>(pointer);
    }
}

bool gives_floats(const ImageView& view) {
    const TexelFormat& format = view.image->format;
    return format.kind == ChannelKind::floating || (view.sampler->normalized_values && format.channel_bytes < 4);
}

std::uint32_t channel(const std::byte* pointer, const ImageView& view) {
    const TexelFormat format = view.image->format;
    const std::uint32_t raw = raw_channel(pointer, format);
    if (format.kind == ChannelKind::floating) {
        return format.channel_bytes == 2 ? bits_of(to_float(Half{static_cast<std::uint16_t>(raw)})) : raw;
    }
    if (!gives_floats(view)) {
        return raw;
    }
    if (format.kind == ChannelKind::unsigned_integer) {
        return bits_of(static_cast<float>(raw / (format.channel_bytes == 1 ? 255.0 : 65535.0)));
    }
    const double scaled = static_cast<std::int32_t>(raw) / (format.channel_bytes == 1 ? 127.0 : 32767.0);
    return bits_of(static_cast<float>(std::max(scaled, -1.0)));
}

Texel texel(const ImageView& view, std::int64_t x, std::int64_t y, std::int64_t z) {
    const bool floats = gives_floats(view);
    Texel result{0, 0, 0, floats ? bits_of(1.0F) : 1U};
    if (x == kOutside || y == kOutside || z == kOutside) {
        const bool one_row = view.image->kind == ImageKind::linear;
        for (unsigned index = 0; index < result.size(); ++index) {
            result[index] = floats && !one_row ? bits_of(view.sampler->border[index]) : 0;
        }
        return result;
    }
    const Image& image = *view.image;
    const std::byte* const first = view.host + static_cast<std::uint64_t>(z) * image.slice_bytes() +
                                   static_cast<std::uint64_t>(y) * image.pitch +
                                   static_cast<std::uint64_t>(x) * image.format.bytes();
    for (unsigned index = 0; index < image.format.channels; ++index) {
        result[index] = channel(first + index * image.format.channel_bytes, view);
    }
    return result;
}

/// A texel and its weight, in 2^-24ths, for each corner of the axes.
template <typename Add>
void each_corner(const ImageView& view, const Axes& axes, const Add& add) {
    for (unsigned corner = 0; corner < 8; ++corner) {
        double weight = 1;
        const auto index = [&](const Axis& axis, unsigned bit) {
            const bool second = (corner >> bit & 1U) != 0;
            weight *= second ? axis.weight : 256 - axis.weight;
            return second ? axis.second : axis.first;
        };
        const std::int64_t x = index(axes.x, 0), y = index(axes.y, 1), z = index(axes.z, 2);
        if (weight != 0) {
            add(texel(view, x, y, z), weight);
        }
    }
}

}  // namespace

Texel sample(const ImageView& view, const Position& at) {
    const bool linear = view.sampler->linear && gives_floats(view);
    const Axes axes = axes_of(view, at, linear);
    if (axes.x.weight == 0 && axes.y.weight == 0 && axes.z.weight == 0) {
        return texel(view, axes.x.first, axes.y.first, axes.z.first);
    }
    std::array<double, 4> sums{};
    each_corner(view, axes, [&](const Texel& one, double weight) {
        for (unsigned index = 0; index < sums.size(); ++index) {
            sums[index] += static_cast<double>(std::bit_cast<float>(one[index])) * weight;
        }
    });
    Texel result;
    for (unsigned index = 0; index < sums.size(); ++index) {
        result[index] = bits_of(static_cast<float>(sums[index] / (256.0 * 256.0 * 256.0)));
    }
    return result;
}

Texel gather(const ImageView& view, const Position& at, unsigned component) {
    const Axes axes = axes_of(view, at, true);
    const auto one = [&](std::int64_t x, std::int64_t y) { return texel(view, x, y, axes.z.first)[component]; };
    return {one(axes.x.first, axes.y.second), one(axes.x.second, axes.y.second), one(axes.x.second, axes.y.first),
            one(axes.x.first, axes.y.first)};
}

Texel texel_at(const ImageView& view, std::int64_t x, std::int64_t y, std::int64_t z) {
    const Image& image = *view.image;
    const bool inside = x >= 0 && x < image.width && y >= 0 && y < image.height && z >= 0 && z < image.slices;
    return inside ? texel(view, x, y, z) : Texel{};
}

CubePoint cube_point(float x, float y, float z) {
    const double ax = std::abs(x), ay = std::abs(y), az = std::abs(z);
    const auto on = [](unsigned face, double major, double s, double t) {
        return CubePoint{face, (s / major + 1) / 2, (t / major + 1) / 2};
    };
    if (az >= ax && az >= ay) {
        return z >= 0 ? on(4, az, x, -y) : on(5, az, -x, -y);
    }
    if (ay >= ax) {
        return y >= 0 ? on(2, ay, x, z) : on(3, ay, x, -z);
    }
    return x >= 0 ? on(0, ax, -z, -y) : on(1, ax, z, -y);
}

}  // namespace egpu::simulated
