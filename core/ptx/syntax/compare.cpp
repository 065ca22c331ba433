// SPDX-License-Identifier: Apache-2.0
#include "ptx/syntax/compare.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ptx/syntax/constant_expression.hpp"
#include "ptx/syntax/cursor.hpp"
#include "ptx/syntax/declarations.hpp"
#include "ptx/syntax/literals.hpp"

namespace egpu::ptx {
namespace {

/// A token, or what several tokens mean.
struct Piece {
    enum class Kind { text, integer, floating } kind = Kind::text;
    std::string_view text;    ///< text
    std::uint64_t value = 0;  ///< integer, floating: bits
    Range range;

    bool operator==(const Piece& other) const {
        return kind == other.kind && text == other.text && value == other.value;
    }
};

class Canonical {
public:
    explicit Canonical(Cursor cursor) : cursor_(std::move(cursor)) {}

    Result<std::vector<Piece>> run() {
        while (!cursor_.at_end())
            piece();
        if (cursor_.failed())
            return cursor_.take_error();
        return std::move(pieces_);
    }

private:
    void piece() {
        if (number() || no_parameters() || empty_statement())
            return;
        if (cursor_.at(TokenKind::dot_word) && !in_opcode_ && space_of(cursor_.text(cursor_.peek())))
            return declaration_head();
        in_opcode_ = cursor_.at(TokenKind::word) || (in_opcode_ && cursor_.at(TokenKind::dot_word));
        words(cursor_.take());
    }

    /// "ld.global.f32" as "ld" ".global" ".f32", so that "ld .global.f32" is the same.
    void words(const Token& token) {
        Range rest = token.range;
        if (token.kind == TokenKind::word)
            for (std::size_t dot; (dot = cursor_.text(rest).find('.', 1)) != std::string_view::npos;) {
                const auto end = rest.begin + static_cast<std::uint32_t>(dot);
                add_text({rest.begin, end});
                rest.begin = end;
            }
        add_text(rest);
    }

    void add_text(Range range) { pieces_.push_back({Piece::Kind::text, cursor_.text(range), 0, range}); }

    bool number() {
        const bool number = cursor_.at(TokenKind::integer) || cursor_.at(TokenKind::floating);
        const bool sign = cursor_.at('-') || cursor_.at('+') || cursor_.at('~') || cursor_.at('!');
        return (number || sign || cursor_.at('(')) && (integer() || literal());
    }

    bool integer() {
        const std::uint32_t begin = cursor_.begin();
        const auto value = constant_expression(cursor_);
        if (!value)
            return false;
        in_opcode_ = false;
        pieces_.push_back({Piece::Kind::integer, {}, static_cast<std::uint64_t>(*value), cursor_.since(begin)});
        return true;
    }

    /// A number that begins no constant expression: "9" of "%r<9>", "-1.5".
    bool literal() {
        const std::size_t ahead = cursor_.at('-') ? 1 : 0;
        const Token& token = cursor_.peek(ahead);
        if (token.kind != TokenKind::floating && (token.kind != TokenKind::integer || ahead != 0))
            return false;
        Piece piece;
        piece.range = {cursor_.begin(), token.range.end};
        if (token.kind == TokenKind::integer) {
            piece.kind = Piece::Kind::integer;
            piece.value = integer_value(cursor_.text(token)).value_or(0);
        } else {
            const auto value = floating_value(cursor_.text(token));
            if (!value)
                return false;
            piece.kind = Piece::Kind::floating;
            piece.value = value->bits ^ (std::uint64_t{ahead} << (value->width - 1));
        }
        pieces_.push_back(piece);
        for (std::size_t i = 0; i <= ahead; ++i)
            cursor_.take();
        in_opcode_ = false;
        return true;
    }

    bool no_parameters() {
        if (!cursor_.at('(') || !cursor_.at(')', 1))
            return false;
        cursor_.take();
        cursor_.take();
        return true;
    }

    bool empty_statement() {
        if (!cursor_.at(';'))
            return false;
        const std::string_view last = pieces_.empty() ? ";" : pieces_.back().text;
        if (last != ";" && last != "{" && last != "}" && last != ":")
            return false;
        cursor_.take();
        return true;
    }

    /// ".global .align 4 .attribute(.managed) .u32": the space, then its groups in the order of their names, those of a
    /// pointer ("ptr .global .align 16") last.
    void declaration_head() {
        words(cursor_.take());
        std::vector<std::vector<Piece>> groups;
        std::vector<Piece> before = std::move(pieces_);
        while (cursor_.at(TokenKind::dot_word)) {
            pieces_.clear();
            const std::string_view name = cursor_.text(cursor_.peek());
            words(cursor_.take());
            if (name == ".align")
                number();
            else if (name == ".attribute")
                in_parentheses();
            else if (name == ".ptr")
                while (cursor_.at(TokenKind::dot_word) || cursor_.at(TokenKind::integer))
                    words(cursor_.take());
            groups.push_back(std::move(pieces_));
        }
        std::stable_sort(groups.begin(), groups.end(), [](const auto& a, const auto& b) {
            return std::pair(a.front().text == ".ptr", a.front().text) <
                   std::pair(b.front().text == ".ptr", b.front().text);
        });
        pieces_ = std::move(before);
        for (const auto& group : groups)
            pieces_.insert(pieces_.end(), group.begin(), group.end());
    }

    void in_parentheses() {
        std::size_t open = 0;
        do {
            open += cursor_.at('(') ? 1U : 0U;
            open -= cursor_.at(')') && open > 0 ? 1U : 0U;
            words(cursor_.take());
        } while (open > 0 && !cursor_.at_end());
    }

    Cursor cursor_;
    std::vector<Piece> pieces_;
    bool in_opcode_ = false;  ///< behind a word, with nothing but ".words" since
};

Result<std::vector<Piece>> pieces_of(std::string_view text) {
    auto tokens = tokenize(text, "PTX");
    if (!tokens)
        return tokens.errors();
    return Canonical(Cursor(text, "PTX", std::move(*tokens))).run();
}

}  // namespace

Result<std::optional<TextDifference>> first_difference(std::string_view first, std::string_view second) {
    const auto a = pieces_of(first);
    if (!a)
        return a.errors();
    const auto b = pieces_of(second);
    if (!b)
        return b.errors();
    const auto [at_a, at_b] = std::mismatch(a->begin(), a->end(), b->begin(), b->end());
    if (at_a == a->end() && at_b == b->end())
        return std::optional<TextDifference>();
    const auto place = [](auto at, const std::vector<Piece>& all, std::string_view text) {
        const auto end = static_cast<std::uint32_t>(text.size());
        return at == all.end() ? Range{end, end} : at->range;
    };
    return std::optional(TextDifference{place(at_a, *a, first), place(at_b, *b, second)});
}

}  // namespace egpu::ptx
