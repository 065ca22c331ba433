// SPDX-License-Identifier: Apache-2.0
// The ways out of a kernel.
#pragma once

#include <vector>

#include "inject/match/outline.hpp"

namespace egpu::inject {

/// True for an instruction with which threads leave the kernel: `exit` anywhere, `ret` in the entry function.
bool leaves_kernel(const ptx::Function& function, const ptx::Instruction& instruction);

enum class WaysOut {
    none,      ///< a kernel that loops for ever
    in_entry,  ///< all of them in the entry function
    anywhere,  ///< in device functions, too
};
WaysOut ways_out(const ptx::Module& module, const std::vector<const ptx::Function*>& functions);

}  // namespace egpu::inject
