// SPDX-License-Identifier: Apache-2.0
// Which maps a program uses: whether a map's values can be what they are called depends on who of them runs.
#pragma once

#include <cstdint>
#include <vector>

#include "host/catalogue/catalogue.hpp"
#include "host/programs/programs.hpp"

namespace egpu::host {

/// In the order of the object's maps, which begin at `map_base` in the catalogue. A refused program's maps are known
/// from its instructions, what it would write is not.
std::vector<MapUse> map_uses(const ebpf::Program& program, const CheckedProgram& checked, std::uint32_t map_base);

}  // namespace egpu::host
