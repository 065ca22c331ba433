// SPDX-License-Identifier: Apache-2.0
// `egpu inject --diff`: what a kernel's copy has and its original hasn't.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "cli/inject/modules.hpp"

namespace egpu::cli {

/// Prints the difference of kernel `entry` of one of the modules (its functions, callees included) and its copy.
Status print_difference(const std::vector<NamedModule>& modules, const std::string& entry, const std::string& copy);

/// That of every kernel, with a program that counts every memory access. kNo where there is no copy at all.
int report_differences(const std::vector<std::string>& files);

}  // namespace egpu::cli
