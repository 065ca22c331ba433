// SPDX-License-Identifier: Apache-2.0
#include "ptx/syntax/cursor.hpp"

#include <fmt/format.h>

namespace egpu::ptx {

void Cursor::fail(std::string_view code, std::string message, Range where, std::string hint) {
    if (!error_)
        error_ = error_in_text(code, std::move(message), text_, name_, where, std::move(hint));
    position_ = tokens_.size() - 1;
}

void Cursor::fail_here(std::string_view message) {
    fail("EGPU-P005", fmt::format("{}{}", message, at_end() ? ", found the end of the text" : ""), peek().range);
}

void Cursor::fail_expected(char punctuation, std::string_view place, std::string_view name) {
    fail_here(fmt::format("expected '{}' {}{}", punctuation, place, name));
}

}  // namespace egpu::ptx
