// SPDX-License-Identifier: Apache-2.0
// Do two PTX texts say the same? By their tokens, where no assembler is there to ask.
#pragma once

#include <optional>
#include <string_view>

#include "base/result.hpp"
#include "ptx/syntax/tree.hpp"

namespace egpu::ptx {

/// Where two texts part: a range in each.
struct TextDifference {
    Range first, second;
};

/// The first tokens that differ; nullopt where none do. Spellings of the same thing are the same: numbers by value
/// ("[%r1-16]", "[%r1+-0x10]", "1.5", "0d3FF8000000000000"), blanks inside an opcode, the order of the words between
/// the space and the name of a declaration, empty parentheses, empty statements.
Result<std::optional<TextDifference>> first_difference(std::string_view first, std::string_view second);

}  // namespace egpu::ptx
