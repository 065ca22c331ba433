// SPDX-License-Identifier: Apache-2.0
// Directives: PTX ISA 9.0, chapter 11. Most end with a semicolon; .loc, .file, .section and the head of a module don't,
// so each of those is read by its own grammar, and an unknown one ends with its semicolon or with its line.
#include <limits>

#include "ptx/syntax/literals.hpp"
#include "ptx/syntax/statements.hpp"

namespace egpu::ptx {
namespace {

/// "{ ... }" with whatever stands in it.
void skip_braces(Cursor& cursor) {
    const Range open_brace = cursor.peek().range;
    if (!cursor.expect('{', "before the data of a section"))
        return;
    for (std::size_t open = 1; open > 0;) {
        if (cursor.at_end())
            return cursor.fail("EGPU-P003", "a '{' is never closed", open_brace);
        open += cursor.at('{') ? 1U : 0U;
        open -= cursor.at('}') ? 1U : 0U;
        cursor.take();
    }
}

void skip_to_semicolon(Cursor& cursor, std::string_view name) {
    while (!cursor.at_end() && !cursor.at(';') && !cursor.at('{') && !cursor.at('}'))
        cursor.take();
    cursor.expect(';', "behind ", name);
}

/// `.section .debug_info { .b8 1 ... }`
void skip_section(Cursor& cursor) {
    if (!cursor.at(TokenKind::dot_word) && !cursor.at(TokenKind::word))
        return cursor.fail_here("expected the name of a section");
    while (!cursor.at_end() && !cursor.at('{') && !cursor.at(';') && !cursor.at('}'))
        cursor.take();
    skip_braces(cursor);
}

/// To the semicolon, the end of the line, or behind braces, whichever comes first; a comma continues on the next line.
void skip_unknown(Cursor& cursor) {
    bool continues = false;
    while (!cursor.at_end() && !cursor.at('}') && (continues || !cursor.peek().starts_line)) {
        if (cursor.at('{'))
            return skip_braces(cursor);
        if (cursor.accept(';'))
            return;
        continues = cursor.at(',');
        cursor.take();
    }
}

bool ends_with_semicolon(std::string_view name) {
    return name == ".pragma" || name == ".branchtargets" || name == ".calltargets" || name == ".callprototype" ||
           name == ".alias";
}

Directive finish(Cursor& cursor, std::string_view name, std::uint32_t begin, std::string_view label) {
    Directive directive;
    directive.name = name.substr(1);
    directive.label = label;
    directive.range = cursor.since(begin);
    directive.text = cursor.text(directive.range);
    return directive;
}

std::uint32_t take_line_number(Cursor& cursor) {
    if (!cursor.at(TokenKind::integer)) {
        cursor.fail_here("expected a number in .loc");
        return 0;
    }
    const Token token = cursor.take();
    const auto value = integer_value(cursor.text(token));
    if (!value || *value > std::numeric_limits<std::uint32_t>::max()) {
        cursor.fail("EGPU-P006", "a number out of range in .loc", token.range);
        return 0;
    }
    return static_cast<std::uint32_t>(*value);
}

}  // namespace

Directive parse_directive(Cursor& cursor, std::uint32_t begin, std::string_view label) {
    const std::string_view name = cursor.text(cursor.take());
    if (name == ".section")
        skip_section(cursor);
    else if (ends_with_semicolon(name))
        skip_to_semicolon(cursor, name);
    else
        skip_unknown(cursor);
    return finish(cursor, name, begin, label);
}

// Example: .loc 1 2 104, function_name $L__info_string0+16, inlined_at 1 3 8
Directive parse_loc(Cursor& cursor, SourceLine& line) {
    const std::uint32_t begin = cursor.begin();
    const std::string_view name = cursor.text(cursor.take());
    line.file = take_line_number(cursor);
    line.line = take_line_number(cursor);
    line.column = cursor.at(TokenKind::integer) ? take_line_number(cursor) : 0;
    while (cursor.accept(',')) {
        const std::string_view attribute = cursor.at(TokenKind::word) ? cursor.text(cursor.peek()) : "";
        if (attribute == "function_name") {
            cursor.take();
            cursor.take();
            if (cursor.accept('+'))
                take_line_number(cursor);
        } else if (attribute == "inlined_at") {
            cursor.take();
            for (int i = 0; i < 3; ++i)
                take_line_number(cursor);
        } else {
            cursor.fail_here("expected function_name or inlined_at behind the comma of .loc");
        }
    }
    return finish(cursor, name, begin, {});
}

std::vector<Directive> parse_function_attributes(Cursor& cursor) {
    std::vector<Directive> directives;
    while (cursor.at_dot_word(".attribute")) {
        const std::uint32_t begin = cursor.begin();
        cursor.take();
        cursor.expect('(', "behind .attribute");
        for (std::size_t open = 1; open > 0 && !cursor.at_end();) {
            open += cursor.at('(') ? 1U : 0U;
            open -= cursor.at(')') ? 1U : 0U;
            cursor.take();
        }
        directives.push_back(finish(cursor, ".attribute", begin, {}));
    }
    return directives;
}

std::vector<Directive> parse_function_directives(Cursor& cursor) {
    std::vector<Directive> directives;
    while (cursor.at(TokenKind::dot_word)) {
        const std::uint32_t begin = cursor.begin();
        const std::string_view name = cursor.text(cursor.take());
        if (name == ".pragma") {
            skip_to_semicolon(cursor, name);
        } else {
            for (std::size_t open = 0; !cursor.at_end() && !cursor.at('{') && !cursor.at(';');) {
                if (open == 0 && cursor.at(TokenKind::dot_word))
                    break;
                open += cursor.at('(') ? 1U : 0U;
                open -= cursor.at(')') && open > 0 ? 1U : 0U;
                cursor.take();
            }
        }
        directives.push_back(finish(cursor, name, begin, {}));
    }
    return directives;
}

}  // namespace egpu::ptx
