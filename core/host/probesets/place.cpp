// SPDX-License-Identifier: Apache-2.0
#include "host/probesets/place.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace egpu::host {
namespace {

constexpr std::uint32_t kQuotedBefore = 100;  // characters of a long line that are shown before the place,
constexpr std::uint32_t kLongestQuote = 160;  // and all in all

bool continues(char c) {
    return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

std::string without_controls(std::string text) {
    for (auto& c : text)
        if ((static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f)
            c = '?';
    return text;
}

/// The byte at which the character number `column` (from 1) begins.
std::size_t byte_of(std::string_view line, std::uint32_t column) {
    std::size_t at = 0;
    for (std::uint32_t left = column; at < line.size(); ++at)
        if (!continues(line[at]) && --left == 0)
            break;
    return at;
}

QuotedLine quote(const Place& place) {
    std::string_view line = place.source->lines[place.line - 1];
    QuotedLine quoted{place.line, {}, place.column, place.length};
    const std::uint32_t all = characters(line);
    if (all > kLongestQuote) {
        const std::uint32_t first = place.column > kQuotedBefore ? place.column - kQuotedBefore : 1;
        const std::size_t begin = byte_of(line, first);
        line = line.substr(begin);
        line = line.substr(0, byte_of(line, kLongestQuote + 1));
        quoted.underline_column = place.column - first + 1;
    }
    const std::uint32_t shown = characters(line);
    quoted.underline_length = std::min(place.length, shown + 1 - std::min(quoted.underline_column, shown));
    quoted.text = without_controls(std::string(line));
    return quoted;
}

}  // namespace

std::string Place::text() const {
    if (!source)
        return {};
    if (line == 0)
        return source->file;
    return fmt::format("{}:{}:{}", source->file, line, column);
}

std::uint32_t characters(std::string_view text) {
    return static_cast<std::uint32_t>(std::count_if(text.begin(), text.end(), [](char c) { return !continues(c); }));
}

Diagnostic problem_at(const Place& place, std::string_view code, std::string message, std::string hint) {
    Diagnostic problem = error(code, without_controls(std::move(message)), without_controls(std::move(hint)));
    if (!place.source)
        return problem;
    problem.where = {place.source->file, place.line, place.column, place.length};
    if (place.line >= 1 && place.line <= place.source->lines.size())
        problem.quoted.push_back(quote(place));
    return problem;
}

}  // namespace egpu::host
