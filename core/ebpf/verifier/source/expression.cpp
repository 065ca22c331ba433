// SPDX-License-Identifier: Apache-2.0
#include "ebpf/verifier/source/expression.hpp"

#include <algorithm>
#include <cctype>

namespace egpu::ebpf {
namespace {

bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

bool is_space(char c) {
    return c == ' ' || c == '\t';
}

/// Behind the bracket that closes the one at `open`; the end of the text where none does.
std::size_t after_bracket(std::string_view text, std::size_t open) {
    int depth = 0;
    for (std::size_t i = open; i < text.size(); ++i) {
        if (text[i] == '(' || text[i] == '[')
            ++depth;
        else if (text[i] == ')' || text[i] == ']')
            --depth;
        if (depth == 0)
            return i + 1;
    }
    return text.size();
}

/// The bracket that opens the one at `close`; npos where none does.
std::size_t before_bracket(std::string_view text, std::size_t close) {
    int depth = 0;
    for (std::size_t i = close + 1; i-- > 0;) {
        if (text[i] == ')' || text[i] == ']')
            ++depth;
        else if (text[i] == '(' || text[i] == '[')
            --depth;
        if (depth == 0)
            return i;
    }
    return std::string_view::npos;
}

std::size_t word_start(std::string_view text, std::size_t at) {
    while (at > 0 && is_word(text[at - 1]))
        --at;
    return at;
}

/// From a word to the left, over `a->b.` and `a[i].`, and then over `*`, `&` that can only be a prefix.
std::size_t extend_left(std::string_view text, std::size_t start) {
    for (;;) {
        std::size_t before = start;
        if (before >= 2 && text.substr(before - 2, 2) == "->")
            before -= 2;
        else if (before >= 1 && text[before - 1] == '.')
            before -= 1;
        else
            break;
        if (before == 0)
            break;
        if (text[before - 1] == ']' || text[before - 1] == ')') {
            const std::size_t open = before_bracket(text, before - 1);
            if (open == std::string_view::npos)
                break;
            before = open;
        }
        start = word_start(text, before);
    }
    std::size_t prefix = start;
    while (prefix > 0 && (text[prefix - 1] == '*' || text[prefix - 1] == '&'))
        --prefix;
    // `a & b` and `a * b` are written with a space in front; `(&t`, `= *t` and a line's first `*t` are prefixes.
    return prefix;
}

/// From a word to the right, over calls, indices and members.
std::size_t extend_right(std::string_view text, std::size_t end) {
    while (end < text.size()) {
        if (text[end] == '(' || text[end] == '[') {
            end = after_bracket(text, end);
            continue;
        }
        std::size_t next = end;
        if (text[next] == '.')
            next += 1;
        else if (text.substr(next, 2) == "->")
            next += 2;
        else
            break;
        std::size_t word = next;
        while (word < text.size() && is_word(text[word]))
            ++word;
        if (word == next)
            break;
        end = word;
    }
    return end;
}

Extent around_word(std::string_view text, std::size_t at) {
    const std::size_t start = extend_left(text, word_start(text, at));
    std::size_t end = at;
    while (end < text.size() && is_word(text[end]))
        ++end;
    end = extend_right(text, end);
    return {static_cast<std::uint32_t>(start + 1), static_cast<std::uint32_t>(end - start)};
}

/// The expression whose last character stands before a position: `t->slot[i]` of `t->slot[i] += 1`.
std::optional<Extent> expression_before(std::string_view text, std::size_t position) {
    std::size_t end = position;
    while (end > 0 && is_space(text[end - 1]))
        --end;
    std::size_t start = end;
    while (start > 0 && (text[start - 1] == ']' || text[start - 1] == ')')) {
        const std::size_t open = before_bracket(text, start - 1);
        if (open == std::string_view::npos)
            return std::nullopt;
        start = open;
    }
    start = extend_left(text, word_start(text, start));
    if (start == end)
        return std::nullopt;
    return Extent{static_cast<std::uint32_t>(start + 1), static_cast<std::uint32_t>(end - start)};
}

bool is_assignment(std::string_view text) {
    const auto operators = text.find_first_not_of("+-*/%&|^<>");
    if (operators == std::string_view::npos || operators > 2 || text[operators] != '=')
        return false;
    // `=`, `+=`, `<<=`; neither `==` nor `<=`.
    const bool compares = operators == 1 && (text[0] == '<' || text[0] == '>');
    return !compares && !text.substr(operators).starts_with("==");
}

}  // namespace

std::optional<Extent> expression_at(std::string_view text, std::uint32_t column) {
    if (column == 0 || column > text.size())
        return std::nullopt;
    const std::size_t start = column - 1;
    const bool counts = text.substr(start, 2) == "++" || text.substr(start, 2) == "--";
    const bool behind = start > 0 && (is_word(text[start - 1]) || text[start - 1] == ']' || text[start - 1] == ')');
    if (is_assignment(text.substr(start)) || (counts && behind))
        if (const auto left = expression_before(text, start))
            return left;  // clang points at the operator
    std::size_t at = start;
    // Prefixes and casts: `*(__u64 *)ctx->address`.
    while (at < text.size() && !is_word(text[at])) {
        if (text[at] == '(')
            at = after_bracket(text, at);
        else if (text[at] == '*' || text[at] == '&')
            ++at;
        else
            break;
    }
    if (at < text.size() && is_word(text[at])) {
        const Extent word = around_word(text, at);
        if (at == start)
            return word;
        return Extent{column, word.column + word.length - column};
    }
    if (at > start)
        return Extent{column, static_cast<std::uint32_t>(at - start)};
    if (const auto left = expression_before(text, start))
        return left;
    return Extent{column, 1};
}

std::optional<Extent> expression_with(std::string_view text, std::string_view name, std::uint32_t from_column) {
    if (name.empty())
        return std::nullopt;
    const auto find = [&](std::size_t from) {
        for (std::size_t at = text.find(name, from); at != std::string_view::npos; at = text.find(name, at + 1)) {
            const bool starts = at == 0 || !is_word(text[at - 1]);
            const std::size_t end = at + name.size();
            if (starts && (end == text.size() || !is_word(text[end])))
                return at;
        }
        return std::string_view::npos;
    };
    std::size_t at = find(from_column == 0 ? 0 : from_column - 1);
    if (at == std::string_view::npos)
        at = find(0);
    if (at == std::string_view::npos)
        return std::nullopt;
    return around_word(text, at);
}

bool is_call_at(std::string_view text, std::uint32_t column) {
    std::size_t end = column == 0 ? text.size() : column - 1;
    while (end < text.size() && is_word(text[end]))
        ++end;
    return end < text.size() && text[end] == '(' && end != column - 1;
}

std::string assigned_name(std::string_view text, std::uint32_t column) {
    std::size_t end = column == 0 ? 0 : std::min<std::size_t>(column - 1, text.size());
    const auto skip = [&] {
        while (end > 0 && is_space(text[end - 1]))
            --end;
    };
    skip();
    if (end == 0 || text[end - 1] != '=')
        return {};
    --end;
    if (end > 0 && std::string_view("=!<>+-*/|&^%").find(text[end - 1]) != std::string_view::npos)
        return {};
    skip();
    const std::size_t start = word_start(text, end);
    return std::string(text.substr(start, end - start));
}

std::string declared_function(std::string_view text) {
    for (std::size_t open = text.find('('); open != std::string_view::npos; open = text.find('(', open)) {
        const std::size_t start = word_start(text, open);
        const std::string_view name = text.substr(start, open - start);
        if (name.empty())
            return {};
        if (name != "__attribute__" && name != "SEC")
            return std::string(name);
        open = after_bracket(text, open);
    }
    return {};
}

}  // namespace egpu::ebpf
