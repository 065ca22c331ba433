// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fmt/format.h>

#include "base/units.hpp"
#include "base/write_all.hpp"

namespace egpu::cli {

std::string printable(std::string_view text) {
    std::string out(text);
    for (auto& c : out)
        if ((static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') || c == 0x7f)
            c = '?';
    return out;
}

void say(std::string_view raw) {
    const std::string clean = printable(raw);
    std::string_view text = clean;
    std::string out;
    while (!text.empty()) {
        const auto end = text.find('\n');
        const auto line = text.substr(0, end);
        out += line.empty() ? "egpu:" : "egpu: ";
        out += line;
        out += '\n';
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
    write_all(STDERR_FILENO, out);  // a closed stderr is the user's choice
}

void say(const Diagnostic& diagnostic) {
    say(to_text(diagnostic));
}

void print_errors(const std::vector<Diagnostic>& diagnostics) {
    constexpr std::size_t kMost = 100;  ///< more than anybody reads; a damaged file has hundreds of thousands
    std::string out;
    for (std::size_t i = 0; i < std::min(kMost, diagnostics.size()); ++i)
        out += to_text(diagnostics[i]);
    if (diagnostics.size() > kMost)
        out += fmt::format("... and {} more\n", format_count(diagnostics.size() - kMost));
    std::fwrite(out.data(), 1, out.size(), stderr);
}

int after_output(int code) {
    errno = 0;
    const bool flushed = std::fflush(stdout) == 0;
    if (flushed && std::ferror(stdout) == 0)
        return code;
    const std::string why = errno == 0 ? "" : fmt::format(": {}", std::strerror(errno));
    print_errors({error("EGPU-X098", fmt::format("stdout can't be written{}", why), "what was printed is not whole")});
    return code == kYes ? static_cast<int>(kEnvironment) : code;
}

std::string counted(std::uint64_t count, std::string_view word) {
    return format_count(count) + " " + std::string(word) + (count == 1 ? "" : "s");
}

void TextTable::column(std::string header, Align align) {
    headers_.push_back(std::move(header));
    aligns_.push_back(align);
}

void TextTable::row(std::vector<std::string> cells) {
    cells.resize(headers_.size());
    for (auto& cell : cells)
        cell = printable(cell);
    rows_.push_back(std::move(cells));
}

std::vector<std::string> TextTable::lines() const {
    std::vector<std::size_t> widths;
    for (std::size_t i = 0; i < headers_.size(); ++i) {
        std::size_t width = display_width(headers_[i]);
        for (const auto& row : rows_)
            width = std::max(width, display_width(row[i]));
        widths.push_back(width);
    }
    const auto line_of = [&](const std::vector<std::string>& cells, bool header) {
        std::string line;
        for (std::size_t i = 0; i < cells.size(); ++i) {
            const std::size_t blanks = widths[i] - display_width(cells[i]);
            const bool right = !header && aligns_[i] == Align::right;
            line.append(right ? blanks : 0, ' ');
            line += cells[i];
            line.append(right ? 2 : blanks + 2, ' ');
        }
        line.erase(line.find_last_not_of(' ') + 1);
        return line;
    };
    std::vector<std::string> lines = {line_of(headers_, true)};
    for (const auto& row : rows_)
        lines.push_back(line_of(row, false));
    return lines;
}

std::string TextTable::text() const {
    std::string out;
    for (const auto& line : lines())
        out += line + "\n";
    return out;
}

std::size_t display_width(std::string_view text) {
    return static_cast<std::size_t>(
        std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

}  // namespace egpu::cli
