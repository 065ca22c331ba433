// SPDX-License-Identifier: Apache-2.0
// Fatbinaries, cubins and host files of anyone: read or refused, without a byte outside and within the memory budget.
#include <cstdint>
#include <cstdlib>

#include "ptx/fatbin/image.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace egpu::ptx;
    const auto images = read_images(std::as_bytes(std::span(data, size)));
    if (!images) {
        if (!images.error().code.starts_with("EGPU-P"))
            std::abort();
        return 0;
    }
    for (const Image& image : *images) {
        for (const std::uint32_t architecture : {75U, 90U, 103U}) {
            const Choice choice = choose(image, architecture);
            if (choice.ptx != nullptr && choice.ptx->architecture > architecture)
                std::abort();
            if (choice.cubin != nullptr && choice.cubin->architecture / 10 != architecture / 10)
                std::abort();
        }
    }
    return 0;
}
