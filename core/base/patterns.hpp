// SPDX-License-Identifier: Apache-2.0
// Patterns by which people choose kernels: a glob, or "regex:" and a regular expression (TARGETS E5).
#pragma once

#include <string_view>

#include "base/result.hpp"

namespace egpu {

/// Without a code: "is no regular expression: ...", "is empty". Of a glob only the empty one is wrong.
Status check_kernel_pattern(std::string_view pattern);

/// True where the pattern matches the mangled name, the signature, or the short name with or without template
/// arguments: a glob all of it, an expression (RE2's syntax) a part of it, in time proportional to the name. One that
/// check_kernel_pattern refuses matches nothing.
bool kernel_pattern_matches(std::string_view pattern, std::string_view mangled);

}  // namespace egpu
