// SPDX-License-Identifier: Apache-2.0
// Operands of instructions and initialisers (parser's files only).
#pragma once

#include <vector>

#include "ptx/syntax/cursor.hpp"
#include "ptx/syntax/tree.hpp"

namespace egpu::ptx {

/// Operands at the cursor up to, and without, `close` or ';'.
std::vector<Operand> parse_operands(Cursor& cursor);
/// One operand; it ends before a comma, a closing bracket or a semicolon.
Operand parse_operand(Cursor& cursor, int depth = 0);

}  // namespace egpu::ptx
