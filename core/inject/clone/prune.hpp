// SPDX-License-Identifier: Apache-2.0
// What of the module's text a copy of one kernel keeps.
#pragma once

#include <vector>

#include "base/result.hpp"
#include "ptx/syntax/edit.hpp"
#include "ptx/syntax/tree.hpp"

namespace egpu::inject {

/// Reasons for which a kernel can't have a copy at all: EGPU-P20x, P21x, P23x.
Status check_module(const ptx::Module& module);
Status check_functions(const ptx::Module& module, const std::vector<const ptx::Function*>& functions);

/// Erases the other kernels, the functions that are not called, all variables that are the original's, and debug
/// sections.
void prune(const ptx::Module& module, const std::vector<const ptx::Function*>& functions, ptx::Editor& editor);

}  // namespace egpu::inject
