// SPDX-License-Identifier: Apache-2.0
// Finds the expression in a line of C that a message is about: clang gives a line and a column, people read `t->bytes`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace egpu::ebpf {

/// Columns count from 1.
struct Extent {
    std::uint32_t column = 0;
    std::uint32_t length = 0;
};

/// The expression at a column: its operand before `->` or `.`, its `*` and `&`, its calls, members and indices.
/// Without a word at the column: the one character there. nullopt where the column is outside the text.
std::optional<Extent> expression_at(std::string_view text, std::uint32_t column);

/// The expression that holds a name as a whole word, the first from a column on, else the first of the line.
std::optional<Extent> expression_with(std::string_view text, std::string_view name, std::uint32_t from_column);

/// True where the name of a function that is called stands at a column.
bool is_call_at(std::string_view text, std::uint32_t column);

/// "t" of `struct traffic *t = lookup(...)`, where the column is that of the right side; "" where there is none.
std::string assigned_name(std::string_view text, std::uint32_t column);

/// "f" of `static __noinline int f(int n)`; "" where a line declares no function.
std::string declared_function(std::string_view text);

}  // namespace egpu::ebpf
