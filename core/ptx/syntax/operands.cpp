// SPDX-License-Identifier: Apache-2.0
// Operands: PTX ISA 9.0, chapter 6; integer constant expressions (section 4.5.5) are evaluated, others kept as text.
#include "ptx/syntax/operands.hpp"

#include "ptx/syntax/constant_expression.hpp"
#include "ptx/syntax/literals.hpp"

namespace egpu::ptx {
namespace {

constexpr int kDeepestOperand = 32;  ///< nested braces of an initialiser; PTX arrays have a few dimensions

bool at_operand_end(const Cursor& cursor) {
    return cursor.at_end() || cursor.at(',') || cursor.at(';') || cursor.at('}') || cursor.at(']') || cursor.at(')');
}

void finish(Operand& operand, const Cursor& cursor, std::uint32_t begin) {
    operand.range = cursor.since(begin);
    operand.text = cursor.text(operand.range);
}

/// Any expression that has no kind of its own: the tokens up to the end of the operand, brackets balanced.
void parse_other(Operand& operand, Cursor& cursor, std::uint32_t begin) {
    int open = 0;
    while (!cursor.at_end() && !cursor.at(';') && (open > 0 || !at_operand_end(cursor))) {
        if (cursor.at('(') || cursor.at('[') || cursor.at('{'))
            ++open;
        if (cursor.at(')') || cursor.at(']') || cursor.at('}'))
            --open;
        cursor.take();
    }
    operand.kind = Operand::Kind::other;
    finish(operand, cursor, begin);
    if (operand.range.begin == operand.range.end)
        cursor.fail_here("expected an operand");
}

void parse_number(Operand& operand, Cursor& cursor, std::uint32_t begin) {
    const bool negative = cursor.accept('-');
    const Token token = cursor.take();
    const auto value = floating_value(cursor.text(token));
    if (!value) {
        cursor.fail("EGPU-P006", "not a PTX floating-point number", token.range,
                    "0f takes 8 hexadecimal digits and 0d takes 16");
        return;
    }
    operand.kind = Operand::Kind::floating;
    operand.floating_bits = value->width;
    const std::uint64_t sign = std::uint64_t{negative} << (value->width - 1);
    operand.integer = static_cast<std::int64_t>(value->bits ^ sign);
    finish(operand, cursor, begin);
}

void parse_integer(Operand& operand, Cursor& cursor, std::uint32_t begin) {
    const auto value = constant_expression(cursor);
    if (!value)
        return;
    operand.kind = Operand::Kind::integer;
    operand.integer = *value;
    finish(operand, cursor, begin);
}

/// "+4", "-4", "+-4", "+4*2" behind a name. False where what follows is no offset; the cursor is where it was then.
bool parse_offset(Operand& operand, Cursor& cursor, std::uint32_t begin) {
    const auto place = cursor.place();
    cursor.accept('+');
    const auto offset = constant_expression(cursor);
    if (!offset) {
        cursor.back_to(place);
        return false;
    }
    operand.integer = *offset;
    operand.has_offset = true;
    finish(operand, cursor, begin);
    return true;
}

/// What begins with a name: "%r1", "symbol+4", "r|p"; "generic(symbol)+4" is `other`, with base and offset.
void parse_name(Operand& operand, Cursor& cursor, std::uint32_t begin, int depth) {
    const std::string_view name = cursor.text(cursor.take());
    operand.kind = Operand::Kind::identifier;
    finish(operand, cursor, begin);
    if (at_operand_end(cursor))
        return;
    if (cursor.at('|')) {
        Operand first = std::move(operand);
        cursor.take();
        operand = {};
        operand.kind = Operand::Kind::pair;
        operand.parts.push_back(std::move(first));
        operand.parts.push_back(parse_operand(cursor, depth + 1));
        finish(operand, cursor, begin);
        return;
    }
    if (cursor.at('(') && cursor.peek(1).kind == TokenKind::word && cursor.at(')', 2)) {
        cursor.take();
        operand.base = cursor.text(cursor.take());
        cursor.take();
        operand.kind = Operand::Kind::other;
        finish(operand, cursor, begin);
    }
    if ((cursor.at('+') || cursor.at('-')) && parse_offset(operand, cursor, begin) && operand.base.empty())
        operand.base = name;
    if (!at_operand_end(cursor))
        parse_other(operand, cursor, begin);
}

std::vector<Operand> parse_group(Cursor& cursor, char close, int depth) {
    std::vector<Operand> parts;
    cursor.take();  // the opening bracket
    while (!cursor.at_end() && !cursor.at(close)) {
        parts.push_back(parse_operand(cursor, depth + 1));
        if (!cursor.accept(','))
            break;
    }
    cursor.expect(close, "behind a list of operands");
    return parts;
}

/// "[%rd1+-4]", "[symbol]", "[16]", "[map, {c0, c1}]". An address whose first part is any other expression is `other`:
/// nothing may take it for an address with no base.
void parse_address(Operand& operand, Cursor& cursor, std::uint32_t begin, int depth) {
    operand.parts = parse_group(cursor, ']', depth);
    if (!operand.parts.empty()) {
        const Operand& first = operand.parts.front();
        const bool name = first.kind == Operand::Kind::identifier && !first.negated;
        if (name || first.kind == Operand::Kind::integer) {
            operand.kind = Operand::Kind::address;
            operand.base = !name ? std::string_view() : first.base.empty() ? first.text : first.base;
            operand.integer = first.integer;
            operand.has_offset = first.has_offset;
            operand.parts.erase(operand.parts.begin());
        }
    }
    operand.unified = cursor.accept_dot_word(".unified");
    finish(operand, cursor, begin);
}

/// "{a, b}" and "(a, b)"; a bracket may also begin an expression: "(4*2)+1".
void parse_list(Operand& operand, Cursor& cursor, std::uint32_t begin, int depth) {
    const auto place = cursor.place();
    const bool braces = cursor.at('{');
    operand.kind = braces ? Operand::Kind::vector : Operand::Kind::list;
    operand.parts = parse_group(cursor, braces ? '}' : ')', depth);
    finish(operand, cursor, begin);
    if (at_operand_end(cursor))
        return;
    cursor.back_to(place);
    operand = {};
    parse_integer(operand, cursor, begin);
}

}  // namespace

Operand parse_operand(Cursor& cursor, int depth) {
    Operand operand;
    const std::uint32_t begin = cursor.begin();
    if (depth > kDeepestOperand) {
        cursor.fail("EGPU-P004", "operands nested deeper than 32", cursor.peek().range);
        return operand;
    }
    if (cursor.at('{') || cursor.at('(')) {
        parse_list(operand, cursor, begin, depth);
    } else if (cursor.at('[')) {
        parse_address(operand, cursor, begin, depth);
    } else if (cursor.at(TokenKind::word)) {
        parse_name(operand, cursor, begin, depth);
    } else if (cursor.at('!') && cursor.peek(1).kind == TokenKind::word) {
        cursor.take();
        const std::uint32_t name_begin = cursor.begin();
        parse_name(operand, cursor, name_begin, depth);
        operand.negated = true;
        operand.range.begin = begin;
    } else if (cursor.at(TokenKind::floating) || (cursor.at('-') && cursor.peek(1).kind == TokenKind::floating)) {
        parse_number(operand, cursor, begin);
    } else {
        parse_integer(operand, cursor, begin);
    }
    // "1.0+2.0", "0xff(symbol)", "a[1]"
    if (!at_operand_end(cursor) || operand.range.begin == operand.range.end)
        parse_other(operand, cursor, begin);
    return operand;
}

std::vector<Operand> parse_operands(Cursor& cursor) {
    std::vector<Operand> operands;
    if (cursor.at(';'))
        return operands;
    constexpr std::size_t kLook = 64;  // tokens; a longer list grows as it is read
    operands.reserve(cursor.count_ahead(',', ';', kLook) + 1);
    while (!cursor.at_end() && !cursor.at(';')) {
        operands.push_back(parse_operand(cursor));
        if (!cursor.accept(','))
            break;
    }
    return operands;
}

}  // namespace egpu::ptx
