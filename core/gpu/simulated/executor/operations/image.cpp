// SPDX-License-Identifier: Apache-2.0
// The object behind a handle; txq and suq.
#include "gpu/simulated/executor/operations/image.hpp"

#include <fmt/format.h>

#include "gpu/simulated/executor/operations/lane.hpp"
#include "gpu/simulated/executor/operations/memory.hpp"

namespace egpu::simulated {
namespace {

/// Textures in an array of them (of cubes); 0 for what is no array.
std::uint32_t layers_of(const Image& image) {
    switch (image.kind) {
        case ImageKind::one_layered:
        case ImageKind::two_layered:
            return image.slices;
        case ImageKind::cube_layered:
            return image.slices / 6;
        default:
            return 0;
    }
}

std::uint32_t answer(ImageQuery query, const ImageObject& object) {
    const Image& image = object.image;
    switch (query) {
        case ImageQuery::width:
            return image.width;
        case ImageQuery::height:
            return image.height;
        case ImageQuery::depth:
            return image.kind == ImageKind::three ? image.slices : 1;
        case ImageQuery::array_size:
            return layers_of(image);
        case ImageQuery::normalized:
            return object.sampler.normalized_coordinates ? 1 : 0;
    }
    return 0;
}

template <bool OfSurface>
bool query(Context& context, const Instruction& instruction, Mask mask) {
    const ImageRows rows(context, instruction);
    const auto* const handles = row_at<const std::uint64_t>(context, rows.object());
    auto* const results = row_at<std::uint32_t>(context, instruction.destination);
    ViewOfLane views(context, OfSurface);
    for (; mask != 0; mask &= mask - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(mask));
        if (views.find(handles[lane], lane) == nullptr) {
            return false;
        }
        results[lane] = answer(rows.form.query, views.object());
    }
    return true;
}

}  // namespace

const ImageView* ViewOfLane::find(std::uint64_t handle, unsigned lane) {
    if (object_ != nullptr && handle == handle_) {
        return &view_;
    }
    const char* const kind = of_surface_ ? "surface" : "texture";
    handle_ = handle;
    object_ = context_.memory->images().find(handle);
    if (object_ == nullptr || object_->is_surface != of_surface_) {
        const char* const what = object_ == nullptr ? "names no object" : "names an object of the other kind";
        object_ = nullptr;
        report(context_, FaultKind::illegal_address, lane,
               fmt::format("use of the {} object {:#x}, which {}", kind, handle, what));
        return nullptr;
    }
    const Image& image = object_->image;
    const Allocation* const allocation = context_.memory->lookup(image.address);
    if (allocation == nullptr || !allocation->contains(image.address, image.bytes())) {
        object_ = nullptr;
        report(context_, FaultKind::illegal_address, lane,
               fmt::format("use of the {} object {:#x}, whose {} bytes at {:#x} are memory no more: {}", kind, handle,
                           image.bytes(), image.address, context_.memory->describe(image.address)));
        return nullptr;
    }
    view_ = {&image, &object_->sampler, allocation->host + (image.address - allocation->address)};
    return &view_;
}

Handler image_query_handler(bool of_surface) {
    return of_surface ? query<true> : query<false>;
}

}  // namespace egpu::simulated
