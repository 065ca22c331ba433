// SPDX-License-Identifier: Apache-2.0
#include "cli/quantities.hpp"

#include <charconv>
#include <string_view>

#include <fmt/format.h>

#include "base/quantities.hpp"

namespace egpu::cli {
namespace {

Diagnostic refused(const std::string& text, const std::string& option, const Diagnostic& why) {
    return error("EGPU-X050", fmt::format("{} '{}': {}", option, text, why.message), why.hints.front());
}

}  // namespace

Result<std::uint64_t> parse_duration_ns(const std::string& text, const std::string& option) {
    const auto value = parse_quantity(text, Dimension::duration);
    if (!value)
        return refused(text, option, value.error());
    // The segment keeps milliseconds in 32 bits.
    if (*value > 3600e9L)
        return refused(text, option, error("", "too large", "60 min at most"));
    return static_cast<std::uint64_t>(*value);
}

Result<std::uint64_t> parse_memory(const std::string& text, const std::string& option) {
    const auto value = parse_quantity(text, Dimension::bytes);
    if (!value)
        return refused(text, option, value.error());
    return static_cast<std::uint64_t>(*value);
}

Result<std::uint32_t> parse_launches(const std::string& text, const std::string& option, std::uint32_t least) {
    const auto value = parse_whole(text);
    if (!value || *value > UINT32_MAX || *value < least)
        return error("EGPU-X058",
                     fmt::format("{} '{}' is not a whole number from {} to 4 294 967 295", option, text, least),
                     "write it as 500");
    return static_cast<std::uint32_t>(*value);
}

Result<std::uint32_t> parse_sample(const std::string& text, const std::string& option) {
    constexpr std::string_view kLaunches = "launches=", kOne = "1/", kAll = "all";
    const auto refuse = [&](std::size_t at, std::string_view why) {
        return error("EGPU-X054", fmt::format("{} {}\n{:>{}} {}", option, text, "^", option.size() + 2 + at, why),
                     "write it as launches=1/8 (one launch in 8 of each kernel) or launches=all");
    };
    if (text.starts_with("blocks=") || text.starts_with("warps="))
        return refuse(0, "this version samples launches only");
    if (!text.starts_with(kLaunches))
        return refuse(0, "not 'launches='");
    const std::string_view share = std::string_view(text).substr(kLaunches.size());
    if (share == kAll)
        return std::uint32_t{1};
    if (!share.starts_with(kOne))
        return refuse(kLaunches.size(), "neither '1/N' nor 'all'");
    std::uint32_t one_in = 0;
    const char* begin = share.data() + kOne.size();
    const char* end = share.data() + share.size();
    const auto parsed = std::from_chars(begin, end, one_in);
    if (parsed.ec != std::errc() || parsed.ptr != end || one_in == 0)
        return refuse(kLaunches.size() + kOne.size(), "not a whole number from 1 to 4 294 967 295");
    return one_in;
}

}  // namespace egpu::cli
