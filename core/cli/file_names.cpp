// SPDX-License-Identifier: Apache-2.0
#include "cli/file_names.hpp"

#include <unistd.h>

#include <cstdlib>

#include <fmt/format.h>

namespace egpu::cli {
namespace {

std::string host_name() {
    char name[256] = {};
    ::gethostname(name, sizeof name - 1);
    return name;
}

/// A value that becomes part of one file name: no folder can be entered through it.
std::string safe(std::string text) {
    for (auto& c : text)
        if (c == '/')
            c = '_';
    return text;
}

}  // namespace

Result<std::string> expand_file_name(const std::string& pattern, const FileNameParts& parts) {
    std::string out;
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        if (pattern[i] != '%') {
            out += pattern[i];
            continue;
        }
        const char what = i + 1 < pattern.size() ? pattern[i + 1] : '\0';
        ++i;
        const auto close = what == 'q' ? pattern.find('}', i) : std::string::npos;
        if (what == 'p') {
            out += std::to_string(parts.pid);
        } else if (what == 'h') {
            out += safe(host_name());
        } else if (what == 'n') {
            out += safe(parts.set);
        } else if (what == '%') {
            out += '%';
        } else if (what == 'q' && i + 1 < pattern.size() && pattern[i + 1] == '{' && close != std::string::npos) {
            const std::string name = pattern.substr(i + 2, close - i - 2);
            const char* value = std::getenv(name.c_str());
            if (value == nullptr)
                return error("EGPU-X059", fmt::format("'{}': the environment has no {}", pattern, name),
                             "set it, or leave the placeholder out");
            out += safe(value);
            i = close;
        } else {
            return error("EGPU-X051", fmt::format("'{}': unknown placeholder", pattern),
                         "known: %p pid, %h host, %n probes, %q{VAR} environment, %% a percent sign");
        }
    }
    return out;
}

}  // namespace egpu::cli
