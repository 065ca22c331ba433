// SPDX-License-Identifier: Apache-2.0
// Text to tree.
#pragma once

#include <string>

#include "base/result.hpp"
#include "ptx/syntax/tree.hpp"

namespace egpu::ptx {

/// Parses a module. Unknown opcodes and directives are kept; only what can't be tokenised or nested is an error
/// (EGPU-P001 ..., with line and column). `name` stands in diagnostics. Trailing NULs (fatbinary padding) are dropped.
Result<Module> parse(std::string text, std::string_view name);

}  // namespace egpu::ptx
