// SPDX-License-Identifier: Apache-2.0
#include "cli/quantities.hpp"

#include <charconv>
#include <span>
#include <string_view>

#include <fmt/format.h>

namespace egpu::cli {
namespace {

struct Unit {
    std::string_view name;
    double factor;
};

constexpr Unit kDurations[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"min", 60e9}};
constexpr Unit kMemory[] = {{"B", 1},       {"KiB", 1024.0}, {"MiB", 1048576.0}, {"GiB", 1073741824.0},
                            {"kB", 1000.0}, {"MB", 1e6},     {"GB", 1e9}};

Result<std::uint64_t> parse(const std::string& text, const std::string& option, std::span<const Unit> units,
                            std::string_view example) {
    const auto refuse = [&](std::string_view why) {
        return error("EGPU-X050", fmt::format("{} '{}': {}", option, text, why),
                     fmt::format("write it as {}", example));
    };
    double number = 0;
    const char* end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, number);
    if (parsed.ec != std::errc() || !(number >= 0))
        return refuse("not a number");
    std::string_view unit(parsed.ptr, static_cast<std::size_t>(end - parsed.ptr));
    while (!unit.empty() && unit.front() == ' ')
        unit.remove_prefix(1);
    if (unit.empty())
        return refuse("needs a unit");
    for (const auto& known : units) {
        if (unit != known.name)
            continue;
        const double value = number * known.factor;
        if (value > 1e18)
            return refuse("too large");
        return static_cast<std::uint64_t>(value);
    }
    return refuse(fmt::format("unknown unit '{}'", unit));
}

}  // namespace

Result<std::uint64_t> parse_duration_ns(const std::string& text, const std::string& option) {
    return parse(text, option, kDurations, "'2 s' or '50 ms'");
}

Result<std::uint64_t> parse_memory(const std::string& text, const std::string& option) {
    return parse(text, option, kMemory, "'64 MiB'");
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
