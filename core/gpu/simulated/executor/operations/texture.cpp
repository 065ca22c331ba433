// SPDX-License-Identifier: Apache-2.0
// tex and tld4 (PTX ISA 9.0, section 9.7.10).
#include <bit>

#include "gpu/simulated/executor/operations/half_value.hpp"
#include "gpu/simulated/executor/operations/image.hpp"
#include "gpu/simulated/executor/operations/lane.hpp"

namespace egpu::simulated {
namespace {

std::uint32_t word(const Context& context, Place place, unsigned lane) {
    return row_at<const std::uint32_t>(context, place)[lane];
}

/// Coordinates behind the layer, as the sampler takes them.
Position position(const Context& context, const ImageRows& rows, const ImageView& view, unsigned lane) {
    const Geometry& geometry = rows.form.geometry;
    const unsigned first = geometry.layered ? 1 : 0;
    const auto coordinate = [&](unsigned index) {
        return std::bit_cast<float>(word(context, rows.coordinate(first + index), lane));
    };
    const double layer = geometry.layered ? word(context, rows.coordinate(0), lane) : 0;
    if (geometry.cube) {
        const CubePoint point = cube_point(coordinate(0), coordinate(1), coordinate(2));
        const bool normalized = view.sampler->normalized_coordinates;
        return {point.s * (normalized ? 1 : view.image->width), point.t * (normalized ? 1 : view.image->height),
                layer * 6 + point.face, 2, true};
    }
    Position at{coordinate(0), 0, layer, geometry.dimensions, geometry.layered};
    at.y = geometry.dimensions > 1 ? coordinate(1) : 0.0;
    at.z = geometry.dimensions > 2 ? coordinate(2) : layer;
    return at;
}

/// The texel that .s32 coordinates name.
Texel whole(const Context& context, const ImageRows& rows, const ImageView& view, unsigned lane) {
    const Geometry& geometry = rows.form.geometry;
    const unsigned first = geometry.layered ? 1 : 0;
    const auto coordinate = [&](unsigned index) -> std::int64_t {
        return index < geometry.dimensions
                   ? static_cast<std::int32_t>(word(context, rows.coordinate(first + index), lane))
                   : 0;
    };
    const std::int64_t last = std::int64_t{view.image->slices} - 1;
    const std::int64_t layer =
        geometry.layered ? std::min<std::int64_t>(word(context, rows.coordinate(0), lane), last) : coordinate(2);
    return texel_at(view, coordinate(0), coordinate(1), layer);
}

void give(const Context& context, const ImageRows& rows, unsigned lane, const Texel& texel) {
    const auto half = [&](unsigned index) -> std::uint32_t {
        return to_half(static_cast<double>(std::bit_cast<float>(texel[index]))).bits;
    };
    const auto put = [&](unsigned index, std::uint32_t value) {
        row_at<std::uint32_t>(context, rows.value(index))[lane] = value;
    };
    if (rows.form.result == FetchResult::pairs) {
        put(0, half(0) | half(1) << 16);
        put(1, half(2) | half(3) << 16);
        return;
    }
    for (unsigned index = 0; index < texel.size(); ++index) {
        put(index, rows.form.result == FetchResult::halves ? half(index) : texel[index]);
    }
}

/// Texel::at(view, lane) for each lane. Results may be in the rows of coordinates: a lane's are read before.
template <typename Fetch>
bool each_texel(Context& context, const Instruction& instruction, Mask mask, const Fetch& fetch) {
    const ImageRows rows(context, instruction);
    const auto* const handles = row_at<const std::uint64_t>(context, rows.object());
    ViewOfLane views(context, false);
    for (; mask != 0; mask &= mask - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(mask));
        const ImageView* const view = views.find(handles[lane], lane);
        if (view == nullptr) {
            return false;
        }
        give(context, rows, lane, fetch(rows, *view, lane));
    }
    return true;
}

bool fetch(Context& context, const Instruction& instruction, Mask mask) {
    return each_texel(context, instruction, mask, [&](const ImageRows& rows, const ImageView& view, unsigned lane) {
        return rows.form.whole_coordinates ? whole(context, rows, view, lane)
                                           : sample(view, position(context, rows, view, lane));
    });
}

bool gather_four(Context& context, const Instruction& instruction, Mask mask) {
    return each_texel(context, instruction, mask, [&](const ImageRows& rows, const ImageView& view, unsigned lane) {
        return gather(view, position(context, rows, view, lane), rows.form.component);
    });
}

}  // namespace

Handler fetch_handler() {
    return fetch;
}

Handler gather_handler() {
    return gather_four;
}

}  // namespace egpu::simulated
