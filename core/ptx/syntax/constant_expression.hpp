// SPDX-License-Identifier: Apache-2.0
// Integer constant expressions (parser's files only): PTX ISA 9.0, sections 4.5.5 and 4.5.6.
#pragma once

#include <cstdint>
#include <optional>

#include "ptx/syntax/cursor.hpp"

namespace egpu::ptx {

/// The value of "16", "-4", "4*2+(1<<3)" at the cursor, which stands behind it then; its 64 bits, whether signed or
/// not. nullopt, and the cursor where it was, for anything else: floating point, casts, WARP_SZ, a division by zero.
std::optional<std::int64_t> constant_expression(Cursor& cursor);

}  // namespace egpu::ptx
