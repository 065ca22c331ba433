// SPDX-License-Identifier: Apache-2.0
// Text to tokens. What stands between two tokens (blanks, comments, `#line` lines) belongs to none and stays in the
// text. Lexical rules: PTX ISA 9.0, sections 4.1 to 4.5.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "ptx/syntax/tree.hpp"

namespace egpu::ptx {

/// Bytes of text that a module may have: half the reach of Range, far above any real module.
inline constexpr std::size_t kMaximumTextBytes = std::size_t{1} << 28;

enum class TokenKind : std::uint8_t {
    word,         ///< "ld.global.f32", "%tid.x", "$L__BB0_1", "L1::no_allocate"
    dot_word,     ///< ".reg": starts with a dot and ends before the next one
    integer,      ///< 16, 0x10, 020, 0b101, 5U
    floating,     ///< 1.5, 1e5, 0f3F800000, 0d3FF0000000000000
    string,       ///< "name", with its quotes
    punctuation,  ///< one character
    end,          ///< empty, behind the last one
};

struct Token {
    Range range;
    TokenKind kind = TokenKind::end;
    bool starts_line = false;  ///< a line break stands between the token before and this one
};

/// The tokens of a text, closed by one of kind `end`. `name` stands in diagnostics.
Result<std::vector<Token>> tokenize(std::string_view text, std::string_view name);

/// An error at a byte of the text, with its line and column, the line quoted and `length` characters underlined.
Diagnostic error_in_text(std::string_view code, std::string message, std::string_view text, std::string_view name,
                         Range range, std::string hint = {});

}  // namespace egpu::ptx
