// SPDX-License-Identifier: Apache-2.0
#include "cli/quantities.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
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

namespace {

struct Wrong {
    std::size_t at = 0;  ///< in what was read
    std::string_view why;
};

/// "1/8" -> 8, "all" -> 1.
std::optional<std::uint32_t> read_share(std::string_view share, Wrong& wrong) {
    constexpr std::string_view kOne = "1/", kAll = "all";
    if (share == kAll)
        return 1;
    if (!share.starts_with(kOne)) {
        wrong = {0, "neither '1/N' nor 'all'"};
        return std::nullopt;
    }
    std::uint32_t one_in = 0;
    const char* begin = share.data() + kOne.size();
    const char* end = share.data() + share.size();
    const auto parsed = std::from_chars(begin, end, one_in);
    if (parsed.ec == std::errc() && parsed.ptr == end && one_in != 0)
        return one_in;
    wrong = {kOne.size(), "not a whole number from 1 to 4 294 967 295"};
    return std::nullopt;
}

/// One of what stands between commas, into `given`.
bool read_part(std::string_view part, GivenSample& given, Wrong& wrong) {
    const std::size_t equals = part.find('=');
    const std::string_view unit = part.substr(0, equals);
    if (equals == std::string_view::npos || (unit != "launches" && unit != "blocks" && unit != "warps")) {
        wrong = {0, "none of 'launches=', 'blocks=' and 'warps='"};
        return false;
    }
    if (unit == "launches" ? given.launches.has_value() : given.part.has_value()) {
        wrong = {0, unit == "launches" ? "launches are sampled already" : "blocks or warps are sampled already"};
        return false;
    }
    const auto one_in = read_share(part.substr(equals + 1), wrong);
    if (!one_in) {
        wrong.at += equals + 1;
        return false;
    }
    if (unit == "launches")
        given.launches = one_in;
    else
        given.part = Sampling{unit == "blocks" ? Sampling::Unit::blocks : Sampling::Unit::warps, *one_in};
    return true;
}

}  // namespace

Result<GivenSample> parse_sample(const std::string& text, const std::string& option) {
    GivenSample given;
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t end = std::min(text.find(',', at), text.size());
        Wrong wrong;
        if (!read_part(std::string_view(text).substr(at, end - at), given, wrong))
            return error(
                "EGPU-X054",
                fmt::format("{} {}\n{:>{}} {}", option, text, "^", option.size() + 2 + at + wrong.at, wrong.why),
                "write it as launches=1/8 (one launch in 8 of each kernel), warps=1/64, blocks=1/2, "
                "launches=1/8,warps=1/64 or launches=all");
        at = end + 1;
    }
    return given;
}

}  // namespace egpu::cli
