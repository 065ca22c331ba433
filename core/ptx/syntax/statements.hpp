// SPDX-License-Identifier: Apache-2.0
// Function bodies and directives (parser's files only).
#pragma once

#include <memory>

#include "ptx/syntax/cursor.hpp"
#include "ptx/syntax/tree.hpp"

namespace egpu::ptx {

/// A directive at the cursor that is no declaration. `begin` and `label` name what stands before it.
Directive parse_directive(Cursor& cursor, std::uint32_t begin, std::string_view label = {});

/// `.loc 1 20 3 [, function_name ..., inlined_at ...]` at the cursor.
Directive parse_loc(Cursor& cursor, SourceLine& line);

/// `.attribute(.unified(19, 95))` between .func and the function's name.
std::vector<Directive> parse_function_attributes(Cursor& cursor);

/// The directives between a function's parameters and its body.
std::vector<Directive> parse_function_directives(Cursor& cursor);

/// "{ ... }" at the cursor, the body of a function.
std::unique_ptr<Scope> parse_body(Cursor& cursor);

}  // namespace egpu::ptx
