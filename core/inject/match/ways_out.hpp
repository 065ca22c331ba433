// SPDX-License-Identifier: Apache-2.0
// The ways out of a kernel.
#pragma once

#include <vector>

#include "inject/match/outline.hpp"

namespace egpu::inject {

/// True for an instruction with which threads leave the kernel: `exit` anywhere, `ret` in the entry function.
bool leaves_kernel(const ptx::Function& function, const ptx::Instruction& instruction);

/// True where threads can leave the kernel, and only from its entry function.
bool every_exit_is_in_the_entry(const ptx::Module& module, const std::vector<const ptx::Function*>& functions);

/// True where threads can leave the kernel at all: one that loops for ever has no exit.
bool can_leave(const ptx::Module& module, const std::vector<const ptx::Function*>& functions);

}  // namespace egpu::inject
