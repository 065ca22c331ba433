// SPDX-License-Identifier: Apache-2.0
// Any bytes as a shared library: reading its descriptor ends in an answer, never outside of the bytes.
#include <cstdint>
#include <span>

#include "host/plugins/elf_image.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const egpu::host::ElfImage image(std::as_bytes(std::span(data, size)));
    for (const auto& [name, symbol] : image.exports()) {
        image.at(symbol.address, symbol.size);
        for (std::uint64_t at = symbol.address; at - symbol.address < 72; at += 8)
            if (const auto pointer = image.pointer_at(at))
                image.text_at(*pointer);
    }
    return 0;
}
