// SPDX-License-Identifier: Apache-2.0
// Global variables that programs write to: each section of them is an array map of one element, as libbpf makes it.
#pragma once

#include <cstddef>

#include "ebpf/object/maps.hpp"

namespace egpu::ebpf {

/// ".data", ".bss" and their kin: a section that programs could write to.
bool is_writable_data(const ElfSection& section);

/// Sections of variables that an object may have: each is looked for in all of BTF.
inline constexpr std::size_t kMostVariableSections = 64;

/// A map for each such section, EGPU-B024 and B025 where a GPU can't have it.
std::vector<MapSource> read_globals(const Source& source);

}  // namespace egpu::ebpf
