// SPDX-License-Identifier: Apache-2.0
#include "host/probesets/version_range.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace egpu::host {
namespace {

using Operator = VersionBound::Operator;
using Version = std::array<std::uint32_t, 3>;

constexpr std::pair<std::string_view, Operator> kOperators[] = {{">=", Operator::at_least},
                                                                {"<=", Operator::at_most},
                                                                {">", Operator::greater},
                                                                {"<", Operator::less},
                                                                {"=", Operator::equal}};

std::string_view trimmed(std::string_view text) {
    while (text.starts_with(' '))
        text.remove_prefix(1);
    while (text.ends_with(' '))
        text.remove_suffix(1);
    return text;
}

std::optional<Version> parse_version(std::string_view text) {
    Version version{};
    for (std::size_t part = 0; part < version.size(); ++part) {
        const char* end = text.data() + text.size();
        const auto parsed = std::from_chars(text.data(), end, version[part]);
        if (parsed.ec != std::errc())
            return std::nullopt;
        text.remove_prefix(static_cast<std::size_t>(parsed.ptr - text.data()));
        if (text.empty())
            return version;
        if (text.front() != '.')
            return std::nullopt;
        text.remove_prefix(1);
    }
    return std::nullopt;
}

}  // namespace

Result<VersionRange> parse_version_range(std::string_view text) {
    VersionRange range;
    while (true) {
        const auto comma = text.find(',');
        const std::string_view bound = trimmed(text.substr(0, comma));
        const auto* const found = std::find_if(std::begin(kOperators), std::end(kOperators),
                                               [&](const auto& each) { return bound.starts_with(each.first); });
        const auto version =
            found != std::end(kOperators) ? parse_version(trimmed(bound.substr(found->first.size()))) : std::nullopt;
        if (!version)
            return error("", fmt::format("'{}' is no range of versions", bound), "write it as \">=0.1, <1\"");
        range.push_back({found->second, *version});
        if (comma == std::string_view::npos)
            return range;
        text.remove_prefix(comma + 1);
    }
}

bool in_range(const VersionRange& range, std::string_view text) {
    const auto version = parse_version(text.substr(0, text.find_first_of("-+")));
    return version && std::all_of(range.begin(), range.end(), [&](const VersionBound& bound) {
               switch (bound.op) {
                   case Operator::less:
                       return *version < bound.version;
                   case Operator::at_most:
                       return *version <= bound.version;
                   case Operator::at_least:
                       return *version >= bound.version;
                   case Operator::greater:
                       return *version > bound.version;
                   case Operator::equal:
                       break;
               }
               return *version == bound.version;
           });
}

}  // namespace egpu::host
