// SPDX-License-Identifier: Apache-2.0
#include "base/diagnostic.hpp"

#include <fmt/format.h>

#include <iterator>

namespace egpu {

const char* to_name(Severity severity) {
    switch (severity) {
        case Severity::hint:
            return "hint";
        case Severity::warning:
            return "warning";
        case Severity::error:
            return "error";
    }
    return "error";
}

namespace {

void append_quoted(std::string& out, const QuotedLine& quoted) {
    auto to = std::back_inserter(out);
    fmt::format_to(to, "{:>5} | {}\n", quoted.line, quoted.text);
    if (quoted.underline_column == 0)
        return;
    out += "      | ";
    // Tabs are kept, so that the underline stands below its text whatever the tab width.
    for (std::uint32_t i = 0; i + 1 < quoted.underline_column; ++i)
        out += i < quoted.text.size() && quoted.text[i] == '\t' ? '\t' : ' ';
    const std::uint32_t length = quoted.underline_length == 0 ? 1 : quoted.underline_length;
    out += '^';
    out.append(length - 1, '~');
    out += '\n';
}

}  // namespace

Diagnostic error(std::string_view code, std::string message, std::string hint) {
    Diagnostic diagnostic;
    diagnostic.code = code;
    diagnostic.message = std::move(message);
    if (!hint.empty())
        diagnostic.hints.push_back(std::move(hint));
    return diagnostic;
}

std::string to_text(const Diagnostic& diagnostic) {
    std::string out;
    auto to = std::back_inserter(out);
    if (!diagnostic.where.file.empty()) {
        out += diagnostic.where.file;
        if (diagnostic.where.line != 0)
            fmt::format_to(to, ":{}", diagnostic.where.line);
        if (diagnostic.where.line != 0 && diagnostic.where.column != 0)
            fmt::format_to(to, ":{}", diagnostic.where.column);
        out += ": ";
    }
    fmt::format_to(to, "{}: {}", to_name(diagnostic.severity), diagnostic.message);
    if (!diagnostic.code.empty())
        fmt::format_to(to, "  [{}]", diagnostic.code);
    out += '\n';
    for (const auto& quoted : diagnostic.quoted)
        append_quoted(out, quoted);
    if (!diagnostic.why.empty())
        fmt::format_to(to, "why:  {}\n", diagnostic.why);
    if (!diagnostic.fix.empty())
        fmt::format_to(to, "fix:  {}\n", diagnostic.fix);
    for (const auto& hint : diagnostic.hints)
        fmt::format_to(to, "hint: {}\n", hint);
    if (!diagnostic.detail.empty())
        fmt::format_to(to, "{}\n", diagnostic.detail);
    return out;
}

}  // namespace egpu
