// SPDX-License-Identifier: Apache-2.0
// Where there is no CUDA Toolkit.
#include "base/diagnostic.hpp"
#include "objects.hpp"

namespace egpu::launches {

Result<std::vector<std::byte>> Objects::make(const Argument&) {
    return error("", "tensor maps, textures and surfaces: this was built without the CUDA Toolkit");
}

Result<std::vector<std::vector<std::byte>>> Objects::take() {
    return std::vector<std::vector<std::byte>>();
}

}  // namespace egpu::launches
