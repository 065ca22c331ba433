// SPDX-License-Identifier: Apache-2.0
// Variables and parameters (parser's files only).
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "ptx/syntax/cursor.hpp"
#include "ptx/syntax/tree.hpp"

namespace egpu::ptx {

/// The state space that a directive names; nullopt where it is none (".entry", ".loc").
std::optional<Space> space_of(std::string_view dot_word);
/// True for .visible, .extern, .weak and .common.
bool is_linkage(std::string_view dot_word);

/// One declaration at its space directive, up to and with its semicolon: several names give several variables, whose
/// ranges follow each other. `begin` is where the statement begins (at its linkage).
void parse_variables(Cursor& cursor, std::uint32_t begin, std::string_view linkage,
                     const std::function<void(Variable)>& sink);

/// "( .param .u32 a, .reg .f32 b )" at the cursor.
std::vector<Variable> parse_parameters(Cursor& cursor);

}  // namespace egpu::ptx
