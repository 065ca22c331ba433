// SPDX-License-Identifier: Apache-2.0
// Precedence climbing. Values are 64 bits, signed until an operand is unsigned (suffix U, or a literal over 2^63 - 1).
#include "ptx/syntax/constant_expression.hpp"

#include <array>
#include <limits>

#include "ptx/syntax/literals.hpp"

namespace egpu::ptx {
namespace {

constexpr int kDeepest = 32;  ///< brackets and signs in each other

struct Value {
    std::uint64_t bits = 0;
    bool is_unsigned = false;
    std::int64_t as_signed() const { return static_cast<std::int64_t>(bits); }
};

struct Operator {
    std::string_view text;
    int precedence;  ///< a higher one binds closer
};

// Longer ones first: "<<" before "<".
constexpr std::array<Operator, 17> kOperators = {{{"<<", 8},
                                                  {">>", 8},
                                                  {"<=", 7},
                                                  {">=", 7},
                                                  {"==", 6},
                                                  {"!=", 6},
                                                  {"&&", 2},
                                                  {"||", 1},
                                                  {"*", 10},
                                                  {"/", 10},
                                                  {"+", 9},
                                                  {"-", 9},
                                                  {"<", 7},
                                                  {">", 7},
                                                  {"&", 5},
                                                  {"^", 4},
                                                  {"|", 3}}};

Value truth(bool value) {
    return {value ? 1U : 0U, false};
}

std::optional<Value> shifted(std::string_view text, Value left, Value right) {
    if (right.bits >= 64)
        return std::nullopt;
    if (text == "<<")
        return Value{left.bits << right.bits, left.is_unsigned};
    return Value{
        left.is_unsigned ? left.bits >> right.bits : static_cast<std::uint64_t>(left.as_signed() >> right.bits),
        left.is_unsigned};
}

std::optional<Value> divided(Value left, Value right, bool is_unsigned) {
    const bool overflows = left.as_signed() == std::numeric_limits<std::int64_t>::min() && right.as_signed() == -1;
    if (right.bits == 0 || (!is_unsigned && overflows))
        return std::nullopt;
    return Value{
        is_unsigned ? left.bits / right.bits : static_cast<std::uint64_t>(left.as_signed() / right.as_signed()),
        is_unsigned};
}

std::optional<Value> combined(std::string_view text, Value left, Value right) {
    const bool is_unsigned = left.is_unsigned || right.is_unsigned;
    const bool less = is_unsigned ? left.bits < right.bits : left.as_signed() < right.as_signed();
    const bool equal = left.bits == right.bits;
    if (text == "<<" || text == ">>")
        return shifted(text, left, right);
    if (text == "/")
        return divided(left, right, is_unsigned);
    if (text == "*")
        return Value{left.bits * right.bits, is_unsigned};
    if (text == "+")
        return Value{left.bits + right.bits, is_unsigned};
    if (text == "-")
        return Value{left.bits - right.bits, is_unsigned};
    if (text == "&")
        return Value{left.bits & right.bits, is_unsigned};
    if (text == "|")
        return Value{left.bits | right.bits, is_unsigned};
    if (text == "^")
        return Value{left.bits ^ right.bits, is_unsigned};
    if (text == "<" || text == "<=")
        return truth(less || (text == "<=" && equal));
    if (text == ">" || text == ">=")
        return truth((!less && !equal) || (text == ">=" && equal));
    if (text == "==" || text == "!=")
        return truth(equal == (text == "=="));
    if (text == "&&")
        return truth(left.bits != 0 && right.bits != 0);
    return truth(left.bits != 0 || right.bits != 0);
}

class Evaluator {
public:
    explicit Evaluator(Cursor& cursor) : cursor_(cursor) {}

    std::optional<Value> expression(int depth) {
        auto condition = binary(1, depth);
        if (!condition || !cursor_.at('?'))
            return condition;
        cursor_.take();
        const auto first = depth < kDeepest ? expression(depth + 1) : std::nullopt;
        if (!first || !cursor_.accept(':'))
            return std::nullopt;
        const auto second = expression(depth + 1);
        return second && condition->bits != 0 ? first : second;
    }

private:
    std::optional<Value> binary(int lowest, int depth) {
        auto left = unary(depth);
        while (left) {
            const Operator found = operator_here();
            if (found.precedence < lowest)
                return left;
            for (std::size_t i = 0; i < found.text.size(); ++i)
                cursor_.take();
            const auto right = binary(found.precedence + 1, depth);
            left = right ? combined(found.text, *left, *right) : std::nullopt;
        }
        return left;
    }

    std::optional<Value> unary(int depth) {
        if (depth > kDeepest)
            return std::nullopt;
        for (const char sign : {'-', '+', '~', '!'}) {
            if (!cursor_.accept(sign))
                continue;
            const auto operand = unary(depth + 1);
            if (!operand || sign == '+')
                return operand;
            return sign == '-'   ? Value{0 - operand->bits, operand->is_unsigned}
                   : sign == '~' ? Value{~operand->bits, operand->is_unsigned}
                                 : truth(operand->bits == 0);
        }
        if (cursor_.accept('(')) {
            const auto inner = expression(depth + 1);
            return cursor_.accept(')') ? inner : std::nullopt;
        }
        return literal();
    }

    std::optional<Value> literal() {
        if (!cursor_.at(TokenKind::integer))
            return std::nullopt;
        const Token token = cursor_.take();
        const std::string_view text = cursor_.text(token);
        const auto bits = integer_value(text);
        if (!bits) {
            cursor_.fail("EGPU-P006", "not a PTX integer of 64 bits", token.range);
            return std::nullopt;
        }
        return Value{*bits, text.ends_with('U') || text.ends_with('u') || *bits >> 63 != 0};
    }

    /// The operator whose characters stand at the cursor without blanks between them; precedence 0: none.
    Operator operator_here() const {
        if (!cursor_.at(TokenKind::punctuation))
            return {"", 0};
        const bool joined =
            cursor_.peek(1).kind == TokenKind::punctuation && cursor_.peek(1).range.begin == cursor_.peek().range.end;
        const char first = cursor_.text(cursor_.peek()).front();
        const char second = joined ? cursor_.text(cursor_.peek(1)).front() : '\0';
        for (const Operator& one : kOperators)
            if (one.text[0] == first && (one.text.size() == 1 || one.text[1] == second))
                return one;
        return {"", 0};
    }

    Cursor& cursor_;
};

}  // namespace

std::optional<std::int64_t> constant_expression(Cursor& cursor) {
    const auto begin = cursor.place();
    const auto value = Evaluator(cursor).expression(0);
    if (value)
        return value->as_signed();
    cursor.back_to(begin);
    return std::nullopt;
}

}  // namespace egpu::ptx
