// SPDX-License-Identifier: Apache-2.0
// The sites of events that are no memory accesses: instructions by their opcode, barriers, branches, calls, matrix
// products, and the starts of basic blocks.
#pragma once

#include <vector>

#include "inject/match/match.hpp"

namespace egpu::inject {

/// True for events that look at instructions and not at what they do to memory.
bool is_instruction_event(ebpf::Event event);

/// Sites of such an event, in the order of the text.
Matches find_instruction_sites(const ptx::Module& module, const std::vector<const ptx::Function*>& functions,
                               const ebpf::InjectionPoint& point);

}  // namespace egpu::inject
