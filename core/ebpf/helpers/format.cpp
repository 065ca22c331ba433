// SPDX-License-Identifier: Apache-2.0
#include "ebpf/helpers/format.hpp"

#include <cctype>
#include <cstdio>

#include <fmt/format.h>

namespace egpu::ebpf {
namespace {

constexpr std::size_t kWidest = 64;  ///< characters of one number

/// Reads one conversion; `at` stands behind its '%'.
class Conversion {
public:
    Conversion(std::string_view text, std::size_t& at) : text_(text), at_(at), begin_(at - 1) {}

    Format::Piece read(std::string& problem) {
        Format::Piece piece;
        std::string flags;
        while (at_ < text_.size() && std::string_view("-+ #0").find(text_[at_]) != std::string_view::npos)
            flags += text_[at_++];
        std::size_t width = 0;
        while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0 && width <= kWidest)
            width = width * 10 + static_cast<std::size_t>(text_[at_++] - '0');
        piece.bytes = length();
        const char conversion = at_ < text_.size() ? text_[at_] : '\0';
        if (conversion != '\0')
            ++at_;
        switch (conversion) {
            case 'd':
            case 'i':
                piece.conversion = 'd';
                break;
            case 'u':
            case 'x':
            case 'X':
            case 'o':
            case 'c':
                piece.conversion = conversion;
                break;
            case 'p':
                piece.conversion = 'x';
                piece.bytes = 8;
                flags += '#';
                break;
            default:
                problem = fmt::format("{} prints no number", text_.substr(begin_, at_ - begin_));
        }
        if (width > kWidest)
            problem = fmt::format("a number is printed with at most {} characters", kWidest);
        piece.text = "%" + flags + (width != 0 ? std::to_string(width) : "") + (piece.conversion == 'c' ? "" : "ll");
        return piece;
    }

private:
    std::uint32_t length() {
        std::string_view letters = text_.substr(at_);
        letters = letters.substr(0, letters.find_first_not_of("hlzjt"));
        at_ += letters.size();
        if (letters.empty())
            return 4;
        return letters == "h" ? 2 : letters == "hh" ? 1 : 8;
    }

    std::string_view text_;
    std::size_t& at_;
    std::size_t begin_;
};

/// The number as its conversion takes it.
std::uint64_t narrowed(const Format::Piece& piece, std::uint64_t number) {
    if (piece.bytes >= 8)
        return number;
    const unsigned shift = 64 - piece.bytes * 8;
    return piece.conversion == 'd' ? static_cast<std::uint64_t>(static_cast<std::int64_t>(number << shift) >> shift)
                                   : number << shift >> shift;
}

std::string number_text(const Format::Piece& piece, std::uint64_t number) {
    char buffer[kWidest * 2] = {};
    const std::string conversion = piece.text + piece.conversion;
    // A text of the program never comes here: `conversion` was made above, of known parts.
    const bool is_letter = (number & 0xff) >= ' ' && (number & 0xff) < 0x7f;
    if (piece.conversion == 'c')
        std::snprintf(buffer, sizeof buffer, conversion.c_str(), is_letter ? static_cast<int>(number & 0xff) : '?');
    else if (piece.conversion == 'd')
        std::snprintf(buffer, sizeof buffer, conversion.c_str(), static_cast<long long>(narrowed(piece, number)));
    else
        std::snprintf(buffer, sizeof buffer, conversion.c_str(),
                      static_cast<unsigned long long>(narrowed(piece, number)));
    return buffer;
}

}  // namespace

Format read_format(std::string_view text) {
    Format format;
    text = text.substr(0, text.find('\0'));
    std::string plain;
    const auto end_plain = [&] {
        if (!plain.empty())
            format.pieces.push_back({plain, 0, 8});
        plain.clear();
    };
    for (std::size_t at = 0; at < text.size() && format.problem.empty();) {
        const char next = text[at++];
        if (next != '%') {
            plain += next;
            continue;
        }
        if (at < text.size() && text[at] == '%') {
            plain += text[at++];
            continue;
        }
        end_plain();
        format.pieces.push_back(Conversion(text, at).read(format.problem));
        ++format.numbers;
    }
    end_plain();
    return format;
}

std::string printed_text(const Format& format, std::span<const std::uint64_t> numbers) {
    std::string line;
    std::size_t next = 0;
    for (const Format::Piece& piece : format.pieces) {
        if (piece.conversion == 0) {
            line += piece.text;
            continue;
        }
        line += next < numbers.size() ? number_text(piece, numbers[next]) : "?";
        ++next;
    }
    while (line.ends_with('\n'))
        line.pop_back();
    // One line, whatever a program wrote.
    for (char& letter : line)
        if (static_cast<unsigned char>(letter) < ' ' || letter == 0x7f)
            letter = ' ';
    return line;
}

}  // namespace egpu::ebpf
