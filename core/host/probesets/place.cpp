// SPDX-License-Identifier: Apache-2.0
#include "host/probesets/place.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace egpu::host {
namespace {

constexpr std::uint32_t kQuotedBefore = 100;  // characters of a long line that are shown before the place,
constexpr std::uint32_t kLongestQuote = 160;  // and all in all
constexpr std::size_t kStride = 256;          // bytes

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
std::size_t byte_of_character(std::string_view line, std::uint32_t column) {
    std::size_t at = 0;
    for (std::uint32_t left = column; at < line.size(); ++at)
        if (!continues(line[at]) && --left == 0)
            break;
    return at;
}

QuotedLine quote(const Place& place) {
    std::string_view line = place.source->lines[place.line - 1];
    QuotedLine quoted{place.line, {}, place.column, place.length};
    const std::uint32_t all = place.source->characters_before(place.line - 1, line.size());
    if (all > kLongestQuote) {
        const std::uint32_t first = place.column > kQuotedBefore ? place.column - kQuotedBefore : 1;
        line = line.substr(place.source->byte_of(place.line - 1, first));
        line = line.substr(0, byte_of_character(line, kLongestQuote + 1));
        quoted.underline_column = place.column - first + 1;
    }
    const std::uint32_t shown = characters(line);
    quoted.underline_length = std::min(place.length, shown + 1 - std::min(quoted.underline_column, shown));
    quoted.text = without_controls(std::string(line));
    return quoted;
}

}  // namespace

void SourceText::index_long_lines() {
    strides_.assign(lines.size(), {});
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const std::string_view line = lines[i];
        std::uint32_t count = 0;
        for (std::size_t at = 0; at + kStride <= line.size(); at += kStride)
            strides_[i].push_back(count += characters(line.substr(at, kStride)));
    }
}

std::uint32_t SourceText::characters_before(std::size_t line, std::size_t byte) const {
    const std::string_view text = lines[line];
    byte = std::min(byte, text.size());
    const std::size_t strides = line < strides_.size() ? std::min(byte / kStride, strides_[line].size()) : 0;
    const std::uint32_t before = strides == 0 ? 0 : strides_[line][strides - 1];
    return before + characters(text.substr(strides * kStride, byte - strides * kStride));
}

std::size_t SourceText::byte_of(std::size_t line, std::uint32_t column) const {
    const auto& counts = strides_.at(line);
    // Strides that end before the character.
    const auto strides =
        static_cast<std::size_t>(std::lower_bound(counts.begin(), counts.end(), column) - counts.begin());
    const std::uint32_t before = strides == 0 ? 0 : counts[strides - 1];
    const std::string_view rest = std::string_view(lines[line]).substr(strides * kStride);
    return strides * kStride + byte_of_character(rest, column - before);
}

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
