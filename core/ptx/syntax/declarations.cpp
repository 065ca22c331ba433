// SPDX-License-Identifier: Apache-2.0
// Declarations: PTX ISA 9.0, section 5.4; parameters 5.1.6; attributes 5.4.8 and 11.4.
#include "ptx/syntax/declarations.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>

#include "ptx/syntax/literals.hpp"
#include "ptx/syntax/operands.hpp"
#include "ptx/syntax/types.hpp"

namespace egpu::ptx {
namespace {

std::optional<std::uint32_t> take_count(Cursor& cursor, std::string_view what) {
    if (!cursor.at(TokenKind::integer)) {
        cursor.fail_here(fmt::format("expected a number: {}", what));
        return std::nullopt;
    }
    const Token token = cursor.take();
    const auto value = integer_value(cursor.text(token));
    if (!value || *value > std::numeric_limits<std::uint32_t>::max()) {
        cursor.fail("EGPU-P006", fmt::format("a number out of range: {}", what), token.range);
        return std::nullopt;
    }
    return static_cast<std::uint32_t>(*value);
}

/// ".attribute(.managed)", ".attribute(.unified(19, 95))": what stands in the brackets, each without its dot.
void parse_attributes(Variable& variable, Cursor& cursor) {
    cursor.expect('(', "behind .attribute");
    while (!cursor.at_end() && !cursor.at(')')) {
        const std::uint32_t begin = cursor.begin() + (cursor.at(TokenKind::dot_word) ? 1 : 0);
        cursor.take();
        if (cursor.accept('(')) {
            while (!cursor.at_end() && !cursor.at(')'))
                cursor.take();
            cursor.expect(')', "behind an attribute's values");
        }
        variable.attributes.push_back(cursor.text(cursor.since(begin)));
        if (!cursor.accept(','))
            break;
    }
    cursor.expect(')', "behind the attributes");
}

/// ".ptr .global .align 16": the memory that a pointer parameter leads to.
void parse_pointer(Variable& variable, Cursor& cursor) {
    variable.attributes.emplace_back("ptr");
    while (cursor.at(TokenKind::dot_word)) {
        const std::string_view word = cursor.text(cursor.peek());
        if (word == ".align") {
            cursor.take();
            variable.pointer_alignment = take_count(cursor, "the alignment behind .align").value_or(0);
        } else if (space_of(word)) {
            variable.attributes.push_back(word.substr(1));
            cursor.take();
        } else {
            return;
        }
    }
}

Space space_of_type(std::string_view type, Space declared) {
    if (type == "texref")
        return declared == Space::param ? declared : Space::texture;
    if (type == "samplerref")
        return declared == Space::param ? declared : Space::sampler;
    if (type == "surfref")
        return declared == Space::param ? declared : Space::surface;
    return declared;
}

/// Everything between the space and the first name.
void parse_head(Variable& variable, Cursor& cursor) {
    while (cursor.at(TokenKind::dot_word)) {
        const std::string_view word = cursor.text(cursor.take());
        if (word == ".align") {
            variable.alignment = take_count(cursor, "the alignment behind .align").value_or(0);
        } else if (word == ".attribute") {
            parse_attributes(variable, cursor);
        } else if (word == ".ptr") {
            parse_pointer(variable, cursor);
        } else if (word == ".v2" || word == ".v4" || word == ".v8") {
            variable.vector = static_cast<std::uint32_t>(word[2] - '0');
        } else {
            variable.type = word.substr(1);
            variable.space = space_of_type(variable.type, variable.space);
        }
    }
}

/// "name", "%r<9>", "name[4][]", "name = {1, 2}"
void parse_declarator(Variable& variable, Cursor& cursor) {
    if (!cursor.at(TokenKind::word))
        return cursor.fail_here("expected the name of a variable");
    variable.name = cursor.text(cursor.take());
    if (cursor.accept('<')) {
        variable.count = take_count(cursor, "how many registers").value_or(0);
        cursor.expect('>', "behind the number of registers");
    }
    while (cursor.accept('[')) {
        variable.dimensions.push_back(cursor.at(']') ? 0 : take_count(cursor, "the elements of an array").value_or(0));
        cursor.expect(']', "behind the elements of an array");
    }
    if (!cursor.accept('='))
        return;
    variable.initializer = parse_operand(cursor);
    const bool counted = variable.initializer->kind == Operand::Kind::vector;
    if (counted && !variable.dimensions.empty() && variable.dimensions.front() == 0) {
        variable.dimensions.front() = variable.initializer->parts.size();
        variable.counted_by_initializer = true;
    }
}

}  // namespace

std::optional<Space> space_of(std::string_view dot_word) {
    struct Entry {
        std::string_view word;
        Space space;
    };
    static constexpr std::array<Entry, 8> kSpaces{{{".reg", Space::reg},
                                                   {".param", Space::param},
                                                   {".local", Space::local},
                                                   {".shared", Space::shared},
                                                   {".global", Space::global},
                                                   {".const", Space::constant},
                                                   {".tex", Space::texture},
                                                   {".sreg", Space::reg}}};
    for (const Entry& entry : kSpaces)
        if (entry.word == dot_word)
            return entry.space;
    return std::nullopt;
}

bool is_linkage(std::string_view dot_word) {
    return dot_word == ".visible" || dot_word == ".extern" || dot_word == ".weak" || dot_word == ".common";
}

void parse_variables(Cursor& cursor, std::uint32_t begin, std::string_view linkage,
                     const std::function<void(Variable)>& sink) {
    Variable head;
    head.linkage = linkage;
    head.space = space_of(cursor.text(cursor.take())).value_or(Space::none);
    parse_head(head, cursor);
    for (bool more = true; more && !cursor.failed();) {
        Variable variable = head;
        parse_declarator(variable, cursor);
        more = cursor.accept(',');
        if (!more)
            cursor.expect(';', "behind the declaration of ", variable.name);
        variable.range = cursor.since(begin);
        begin = cursor.begin();
        sink(std::move(variable));
    }
}

std::vector<Variable> parse_parameters(Cursor& cursor) {
    std::vector<Variable> parameters;
    cursor.expect('(', "before parameters");
    while (!cursor.at_end() && !cursor.at(')')) {
        const std::uint32_t begin = cursor.begin();
        const auto space = cursor.at(TokenKind::dot_word) ? space_of(cursor.text(cursor.peek())) : std::nullopt;
        if (!space) {
            cursor.fail_here("expected a parameter, such as .param .u64 name");
            break;
        }
        cursor.take();
        Variable parameter;
        parameter.space = *space;
        parse_head(parameter, cursor);
        parse_declarator(parameter, cursor);
        parameter.range = cursor.since(begin);
        parameters.push_back(std::move(parameter));
        if (!cursor.accept(','))
            break;
    }
    cursor.expect(')', "behind the parameters");
    return parameters;
}

std::uint64_t Variable::bytes() const {
    constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t size = std::uint64_t{scalar_bytes(type)} * vector;
    for (const std::uint64_t dimension : dimensions) {
        if (dimension != 0 && size > kMost / dimension)
            return kMost;
        size *= dimension;
    }
    return size;
}

}  // namespace egpu::ptx
