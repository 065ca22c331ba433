// SPDX-License-Identifier: Apache-2.0
// Tensor maps, textures and surfaces over memory of the current context. They take the toolkit's header: without it
// there are none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "arguments.hpp"

namespace egpu::launches {

class Objects {
public:
    /// A tensor map's 128 bytes, or the handle of a texture or surface; their memory holds the pattern.
    Result<std::vector<std::byte>> make(const Argument& argument);
    /// What the memory of each holds, in the order in which they were made; forgets them.
    Result<std::vector<std::vector<std::byte>>> take();

private:
    struct Area {
        std::uint64_t address = 0;        ///< of a tensor
        void* array = nullptr;            ///< of a texture or surface
        std::size_t row = 0, height = 0;  ///< bytes, rows
    };
    Result<std::vector<std::byte>> tensor(const Argument& argument);
    Result<std::vector<std::byte>> image(const Argument& argument);

    std::vector<Area> areas_;
};

}  // namespace egpu::launches
