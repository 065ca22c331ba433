// SPDX-License-Identifier: Apache-2.0
// Which bytes of the stack become registers, and which a local array.
#pragma once

#include "ebpf/specializer/specializer.hpp"

namespace egpu::ebpf::specializer {

/// Fills SpecializedProgram::stack and stack_bytes from what needed instructions still access.
void lay_out_stack(SpecializedProgram& program);

}  // namespace egpu::ebpf::specializer
