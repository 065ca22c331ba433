// SPDX-License-Identifier: Apache-2.0
// The maps that an object defines in section .maps.
#pragma once

#include "ebpf/object/source.hpp"

namespace egpu::ebpf {

/// A definition, or why a GPU can't have it: an error only once a GPU program uses the map, since the object may hold
/// programs for the Linux kernel with maps of their own.
struct MapSource {
    std::string name;
    std::uint32_t section = 0;
    std::uint64_t offset = 0;  ///< byte in the section, by which relocations name it
    Result<MapDefinition> definition;
    bool is_section = false;  ///< of global variables: addresses inside it are used
};

Result<std::vector<MapSource>> read_maps(const Source& source);

}  // namespace egpu::ebpf
