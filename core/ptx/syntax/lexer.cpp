// SPDX-License-Identifier: Apache-2.0
// One pass over the bytes; each byte is looked at once, so the time is linear in the text.
#include "ptx/syntax/lexer.hpp"

#include <algorithm>
#include <optional>
#include <string>

namespace egpu::ptx {
namespace {

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
bool is_hexadecimal(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool starts_word(char c) {
    return is_letter(c) || c == '_' || c == '$' || c == '%';
}
bool continues_word(char c) {
    return is_letter(c) || is_digit(c) || c == '_' || c == '$';
}
bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' || c == '\v';
}

class Lexer {
public:
    Lexer(std::string_view text, std::string_view name) : text_(text), name_(name) {}

    Result<std::vector<Token>> run() {
        tokens_.reserve(text_.size() / 5);
        while (skip_trivia() && position_ < text_.size())
            if (!read_token())
                break;
        if (error_)
            return std::move(*error_);
        tokens_.push_back(Token{range_from(position_), TokenKind::end, line_break_});
        return std::move(tokens_);
    }

private:
    char at(std::size_t position) const { return position < text_.size() ? text_[position] : '\0'; }
    Range range_from(std::size_t begin) const {
        return {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(position_)};
    }

    bool fail(std::string_view code, std::string message, Range range, std::string hint = {}) {
        error_ = error_in_text(code, std::move(message), text_, name_, range, std::move(hint));
        return false;
    }

    void skip_line() { position_ = std::min(text_.find('\n', position_), text_.size()); }

    /// Blanks, comments and `#` lines. False after an error.
    bool skip_trivia() {
        line_break_ = tokens_.empty();
        while (position_ < text_.size()) {
            const char c = text_[position_];
            if (is_blank(c)) {
                line_break_ = line_break_ || c == '\n';
                ++position_;
            } else if (c == '/' && at(position_ + 1) == '/') {
                skip_line();
            } else if (c == '/' && at(position_ + 1) == '*') {
                if (!skip_block_comment())
                    return false;
            } else if (c == '#' && line_break_) {
                if (!skip_hash_line())
                    return false;
            } else {
                break;
            }
        }
        return true;
    }

    bool skip_block_comment() {
        const std::size_t close = text_.find("*/", position_ + 2);
        if (close == std::string_view::npos)
            return fail("EGPU-P002", "a comment is opened and never closed",
                        {static_cast<std::uint32_t>(position_), static_cast<std::uint32_t>(position_ + 2)});
        const std::string_view comment = text_.substr(position_, close - position_);
        line_break_ = line_break_ || comment.find('\n') != std::string_view::npos;
        position_ = close + 2;
        return true;
    }

    /// `#line` and `# 1 "file"` only place what follows; the other preprocessor lines change the text (ISA 4.1).
    bool skip_hash_line() {
        const std::size_t begin = position_;
        skip_line();
        std::string_view line = text_.substr(begin + 1, position_ - begin - 1);
        line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
        if (line.empty() || is_digit(line.front()) || line.starts_with("line"))
            return true;
        return fail("EGPU-P001", "a preprocessor line other than #line stands in the PTX", range_from(begin),
                    "run the preprocessor first and give egpu its result");
    }

    bool read_token() {
        const std::size_t begin = position_;
        const char c = text_[position_];
        if (starts_word(c))
            return read_word(begin);
        if (c == '.' && (starts_word(at(position_ + 1)) || is_digit(at(position_ + 1))))
            return read_dot_word(begin);
        if (is_digit(c))
            return read_number(begin);
        if (c == '"')
            return read_string(begin);
        static constexpr std::string_view kPunctuation = "{}[]()<>,;:@!|+-*/%&^~=?";
        if (kPunctuation.find(c) == std::string_view::npos)
            return fail("EGPU-P001", "a character that PTX does not have",
                        {range_from(begin).begin, range_from(begin).begin + 1},
                        "PTX text is plain ASCII; is this a PTX file?");
        ++position_;
        return push(begin, TokenKind::punctuation);
    }

    bool push(std::size_t begin, TokenKind kind) {
        tokens_.push_back(Token{range_from(begin), kind, line_break_});
        return true;
    }

    /// "::" joins only where a name follows, so that "label: :" and "label:" stay labels.
    bool joins_name() const {
        return at(position_) == ':' && at(position_ + 1) == ':' && continues_word(at(position_ + 2));
    }

    bool read_word(std::size_t begin) {
        ++position_;
        while (continues_word(at(position_)) || at(position_) == '.' || joins_name())
            position_ += joins_name() ? 2U : 1U;
        return push(begin, TokenKind::word);
    }

    bool read_dot_word(std::size_t begin) {
        ++position_;
        while (continues_word(at(position_)) || joins_name())
            position_ += joins_name() ? 2U : 1U;
        return push(begin, TokenKind::dot_word);
    }

    void skip_digits() {
        while (is_digit(at(position_)))
            ++position_;
    }

    bool read_number(std::size_t begin) {
        const char second = at(position_ + 1);
        const char first = at(position_);
        TokenKind kind = TokenKind::integer;
        if (first == '0' && (second == 'f' || second == 'F' || second == 'd' || second == 'D')) {
            kind = TokenKind::floating;
            position_ += 2;
            while (is_hexadecimal(at(position_)))
                ++position_;
        } else if (first == '0' && (second == 'x' || second == 'X')) {
            position_ += 2;
            while (is_hexadecimal(at(position_)))
                ++position_;
        } else if (first == '0' && (second == 'b' || second == 'B')) {
            position_ += 2;
            skip_digits();
        } else {
            kind = read_decimal();
        }
        if (kind == TokenKind::integer && (at(position_) == 'U' || at(position_) == 'u'))
            ++position_;
        if (continues_word(at(position_)))
            return fail("EGPU-P006", "a number with letters behind it",
                        {range_from(begin).begin, range_from(begin).end + 1});
        return push(begin, kind);
    }

    /// Digits, and the fraction and exponent of a floating-point number. ".b8" behind digits is the next word.
    TokenKind read_decimal() {
        TokenKind kind = TokenKind::integer;
        skip_digits();
        if (at(position_) == '.' && !starts_word(at(position_ + 1))) {
            kind = TokenKind::floating;
            ++position_;
            skip_digits();
        }
        if (at(position_) == 'e' || at(position_) == 'E') {
            const std::size_t sign = at(position_ + 1) == '+' || at(position_ + 1) == '-' ? 1 : 0;
            if (is_digit(at(position_ + 1 + sign))) {
                kind = TokenKind::floating;
                position_ += 1 + sign;
                skip_digits();
            }
        }
        return kind;
    }

    /// ptxas knows no escapes: a backslash is a character like others.
    bool read_string(std::size_t begin) {
        ++position_;
        while (at(position_) != '"') {
            if (position_ >= text_.size() || at(position_) == '\n')
                return fail("EGPU-P002", "a string is opened and never closed on its line", range_from(begin));
            ++position_;
        }
        ++position_;
        return push(begin, TokenKind::string);
    }

    std::string_view text_;
    std::string_view name_;
    std::size_t position_ = 0;
    bool line_break_ = true;
    std::vector<Token> tokens_;
    std::optional<Diagnostic> error_;
};

}  // namespace

Result<std::vector<Token>> tokenize(std::string_view text, std::string_view name) {
    if (text.size() > kMaximumTextBytes) {
        Diagnostic diagnostic = error("EGPU-P007", "PTX text over 256 MiB is not read");
        diagnostic.where.file = std::string(name);
        return diagnostic;
    }
    return Lexer(text, name).run();
}

Diagnostic error_in_text(std::string_view code, std::string message, std::string_view text, std::string_view name,
                         Range range, std::string hint) {
    const std::size_t offset = std::min<std::size_t>(range.begin, text.size());
    const std::size_t break_before = offset == 0 ? std::string_view::npos : text.rfind('\n', offset - 1);
    const std::size_t line_begin = break_before == std::string_view::npos ? 0 : break_before + 1;
    const std::size_t line_end = std::min(text.find('\n', offset), text.size());
    const std::size_t length = std::clamp<std::size_t>(range.end > offset ? range.end - offset : 1, 1,
                                                       std::max<std::size_t>(line_end - offset, 1));
    Diagnostic diagnostic = error(code, std::move(message), std::move(hint));
    diagnostic.where.file = std::string(name);
    diagnostic.where.line = 1 + static_cast<std::uint32_t>(
                                    std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(offset), '\n'));
    diagnostic.where.column = 1 + static_cast<std::uint32_t>(offset - line_begin);
    diagnostic.where.length = static_cast<std::uint32_t>(length);
    constexpr std::size_t kLongestQuote = 200;  // a line of hostile input may be megabytes long
    if (line_end - line_begin <= kLongestQuote)
        diagnostic.quoted.push_back({diagnostic.where.line, std::string(text.substr(line_begin, line_end - line_begin)),
                                     diagnostic.where.column, diagnostic.where.length});
    return diagnostic;
}

}  // namespace egpu::ptx
