// SPDX-License-Identifier: Apache-2.0
// What a specialised program does to map values: adds that may become registers, and everything else.
#pragma once

#include "ebpf/specializer/specializer.hpp"

namespace egpu::ebpf::specializer {

/// Fills SpecializedProgram::accumulators, accesses and fields_read from the needed instructions.
void collect_map_accesses(SpecializedProgram& program);

}  // namespace egpu::ebpf::specializer
