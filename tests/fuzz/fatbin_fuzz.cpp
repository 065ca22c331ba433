// SPDX-License-Identifier: Apache-2.0
// Fatbinaries, cubins and host files of anyone: read or refused, without a byte outside and within the memory budget.
#include <cstdint>
#include <cstdlib>

#include "ptx/fatbin/extent/extent.h"
#include "ptx/fatbin/image.hpp"

namespace {

void require(bool condition) {
    if (!condition)
        std::abort();
}

/// The agent's view of an image that was read whole: the same kind and, where nothing lies behind it, the same size.
void check_extent(const void* image, std::size_t size, egpu_image_kind kind) {
    egpu_image_extent extent{};
    if (egpu_image_extent_of(image, &extent) != 0)
        return;
    require(extent.kind == kind && extent.data == image);
    require(kind == EGPU_IMAGE_CUBIN || extent.bytes <= size);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace egpu::ptx;
    const auto images = read_images(std::as_bytes(std::span(data, size)));
    if (!images) {
        require(images.error().code.starts_with("EGPU-P"));
        return 0;
    }
    for (const Image& image : *images) {
        for (const std::uint32_t architecture : {75U, 90U, 103U}) {
            const Choice choice = choose(image, architecture);
            require(choice.ptx == nullptr || choice.ptx->architecture <= architecture);
            require(choice.cubin == nullptr || choice.cubin->architecture / 10 == architecture / 10);
        }
        for (const CubinMember& cubin : image.cubins)
            check_extent(cubin.bytes.data(), cubin.bytes.size(), EGPU_IMAGE_CUBIN);
        if (image.kind == ImageKind::ptx_text)
            check_extent(image.ptx.front().text.c_str(), image.ptx.front().text.size(), EGPU_IMAGE_PTX);
    }
    return 0;
}
