// SPDX-License-Identifier: Apache-2.0
// A place in the tokens, for the parser's files only. The first error sticks and moves the cursor to the end, so that
// every loop that stops at the end stops after an error too.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/syntax/lexer.hpp"

namespace egpu::ptx {

class Cursor {
public:
    Cursor(std::string_view text, std::string_view name, std::vector<Token> tokens)
        : text_(text), name_(name), tokens_(std::move(tokens)) {}

    const Token& peek(std::size_t ahead = 0) const {
        const std::size_t index = position_ + ahead;
        return index < tokens_.size() ? tokens_[index] : tokens_.back();
    }
    Token take() {
        const Token token = peek();
        if (token.kind != TokenKind::end) {
            last_end_ = token.range.end;
            ++position_;
        }
        return token;
    }

    std::string_view text(Range range) const { return text_.substr(range.begin, range.end - range.begin); }
    std::string_view text(const Token& token) const { return text(token.range); }

    bool at_end() const { return peek().kind == TokenKind::end; }
    bool at(TokenKind kind) const { return peek().kind == kind; }
    bool at(char punctuation, std::size_t ahead = 0) const {
        const Token& token = peek(ahead);
        return token.kind == TokenKind::punctuation && text_[token.range.begin] == punctuation;
    }
    bool at_dot_word(std::string_view word) const { return at(TokenKind::dot_word) && text(peek()) == word; }
    bool accept(char punctuation) {
        if (!at(punctuation))
            return false;
        take();
        return true;
    }
    bool accept_dot_word(std::string_view word) {
        if (!at_dot_word(word))
            return false;
        take();
        return true;
    }
    /// Takes the character, or fails: "expected ';' behind ld". `name` completes the place.
    bool expect(char punctuation, std::string_view place, std::string_view name = {}) {
        if (accept(punctuation))
            return true;
        fail_expected(punctuation, place, name);
        return false;
    }

    /// How many of this character stand between here and the first `end` at the same depth of braces, in at most
    /// `most` tokens: what a list is going to hold, so that it is allocated once.
    std::size_t count_ahead(char punctuation, char end, std::size_t most) const {
        std::size_t count = 0, open = 0;
        const std::size_t last = std::min(tokens_.size(), position_ + most);
        for (std::size_t at = position_; at < last; ++at) {
            if (tokens_[at].kind != TokenKind::punctuation)
                continue;
            const char c = text_[tokens_[at].range.begin];
            if (c == end && open == 0)
                break;
            count += c == punctuation && open == 0 ? 1U : 0U;
            open += c == '{' ? 1U : 0U;
            open -= c == '}' && open > 0 ? 1U : 0U;
        }
        return count;
    }

    struct Place {
        std::size_t position;
        std::uint32_t last_end;
    };
    Place place() const { return {position_, last_end_}; }
    /// Back to a place taken before; an error stays.
    void back_to(const Place& place) {
        if (failed())
            return;
        position_ = place.position;
        last_end_ = place.last_end;
    }

    std::uint32_t begin() const { return peek().range.begin; }
    /// The end of the token taken last.
    std::uint32_t last_end() const { return last_end_; }
    Range since(std::uint32_t begin) const { return {begin, last_end_ > begin ? last_end_ : begin}; }

    void fail(std::string_view code, std::string message, Range where, std::string hint = {});
    /// EGPU-P005 at the next token.
    void fail_here(std::string_view message);
    bool failed() const { return error_.has_value(); }
    Diagnostic take_error() { return std::move(*error_); }

private:
    void fail_expected(char punctuation, std::string_view place, std::string_view name);

    std::string_view text_;
    std::string_view name_;
    std::vector<Token> tokens_;
    std::size_t position_ = 0;
    std::uint32_t last_end_ = 0;
    std::optional<Diagnostic> error_;
};

}  // namespace egpu::ptx
