// SPDX-License-Identifier: Apache-2.0
// Runs the abstract machine over a program's graph until nothing changes.
#pragma once

#include <vector>

#include "base/result.hpp"
#include "ebpf/specializer/machine.hpp"

namespace egpu::ebpf::specializer {

/// Facts that hold at every visit of each instruction. The first error found where something can't be translated.
Result<std::vector<InstructionFacts>> run_to_fixpoint(Machine& machine, const ExpandedProgram& code,
                                                      const Program& program);

}  // namespace egpu::ebpf::specializer
