// SPDX-License-Identifier: Apache-2.0
#include "base/quantities.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <span>

#include <fmt/format.h>

#include "base/units.hpp"

namespace egpu {
namespace {

struct Unit {
    std::string_view name;
    long double factor;
};

constexpr Unit kDurations[] = {{"ns", 1}, {"us", 1e3L}, {"ms", 1e6L}, {"s", 1e9L}, {"min", 60e9L}};
constexpr Unit kMemory[] = {
    {"B", 1},     {"KiB", 1024.0L}, {"MiB", 1048576.0L}, {"GiB", 1073741824.0L}, {"kB", 1000},
    {"MB", 1e6L}, {"GB", 1e9L},     {"TB", 1e12L},       {"PB", 1e15L},          {"TiB", 1099511627776.0L}};
constexpr Unit kRates[] = {{"B/s", 1}, {"kB/s", 1e3L}, {"MB/s", 1e6L}, {"GB/s", 1e9L}, {"TB/s", 1e12L}};
constexpr Unit kCycles[] = {{"cycles", 1}, {"cycle", 1}};
constexpr Unit kShares[] = {{"%", 0.01L}};

struct Scale {
    Dimension dimension;
    std::span<const Unit> units;
    std::string_view example;
};

const Scale kScales[] = {{Dimension::number, {}, "500"},
                         {Dimension::bytes, kMemory, "'64 MiB'"},
                         {Dimension::rate, kRates, "'1.2 TB/s'"},
                         {Dimension::duration, kDurations, "'2 s' or '50 ms'"},
                         {Dimension::cycles, kCycles, "'400 cycles'"},
                         {Dimension::share, kShares, "'50 %'"}};

const Scale& scale_of(Dimension dimension) {
    return *std::find_if(std::begin(kScales), std::end(kScales),
                         [&](const Scale& scale) { return scale.dimension == dimension; });
}

/// Number and unit of a text; the unit is "" where there is none.
struct Parts {
    long double number = 0;
    std::string_view unit;
};

Diagnostic refuse(const Scale& scale, std::string why) {
    return error("", std::move(why), fmt::format("write it as {}", scale.example));
}

Result<Parts> split(std::string_view text, const Scale& scale) {
    Parts parts;
    const char* end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, parts.number);
    // Neither "inf" nor "nan", which from_chars takes for numbers, nor less than nothing.
    if (parsed.ec != std::errc() || !std::isfinite(parts.number) || parts.number < 0)
        return refuse(scale, "not a number");
    parts.unit = std::string_view(parsed.ptr, static_cast<std::size_t>(end - parsed.ptr));
    while (!parts.unit.empty() && parts.unit.front() == ' ')
        parts.unit.remove_prefix(1);
    return parts;
}

}  // namespace

const char* base_unit(Dimension dimension) {
    switch (dimension) {
        case Dimension::bytes:
            return "bytes";
        case Dimension::rate:
            return "bytes_per_s";
        case Dimension::duration:
            return "ns";
        case Dimension::cycles:
            return "cycles";
        case Dimension::share:
            return "ratio";
        case Dimension::number:
            break;
    }
    return "count";
}

Result<Quantity> parse_quantity(std::string_view text, Dimension dimension) {
    const Scale& scale = scale_of(dimension);
    const auto parts = split(text, scale);
    if (!parts)
        return parts.errors();
    if (parts->unit.empty() != scale.units.empty())
        return refuse(scale,
                      parts->unit.empty() ? "needs a unit" : fmt::format("has no unit such as '{}'", parts->unit));
    long double value = parts->number;
    if (!scale.units.empty()) {
        const auto unit = std::find_if(scale.units.begin(), scale.units.end(),
                                       [&](const Unit& known) { return known.name == parts->unit; });
        if (unit == scale.units.end())
            return refuse(scale, fmt::format("unknown unit '{}'", parts->unit));
        value *= unit->factor;
    }
    if (value > 1.8e19L)
        return refuse(scale, "too large");
    return value;
}

Result<Dimension> dimension_of(std::string_view text) {
    const auto parts = split(text, kScales[0]);
    if (!parts)
        return parts.errors();
    if (parts->unit.empty())
        return Dimension::number;
    for (const auto& scale : kScales)
        if (std::any_of(scale.units.begin(), scale.units.end(),
                        [&](const Unit& known) { return known.name == parts->unit; }))
            return scale.dimension;
    return error("", fmt::format("unknown unit '{}'", parts->unit),
                 "write it as '1.2 TB/s', '64 MiB', '50 ms', '400 cycles', '50 %' or 500");
}

std::string format_quantity(Quantity value, Dimension dimension) {
    const auto number = static_cast<double>(value);
    switch (dimension) {
        case Dimension::bytes:
            return format_bytes(number);
        case Dimension::rate:
            return format_rate(number);
        case Dimension::duration:
            return format_duration_ns(number);
        case Dimension::share:
            return format_percent(number);
        case Dimension::cycles:
            return fmt::format("{} cycles", format_count(static_cast<std::uint64_t>(value)));
        case Dimension::number:
            break;
    }
    return value == std::floor(value) ? format_count(static_cast<std::uint64_t>(value)) : fmt::format("{:.2f}", number);
}

namespace {

/// In the base unit, with so many decimals; groups of three before the point.
std::string format_exactly(Quantity value, Dimension dimension, int decimals) {
    if (dimension == Dimension::share)
        value *= 100;
    // Not fmt's: of the long double 0 it prints no decimals.
    std::array<char, 96> digits{};  // a value of a quantity has 20 before the point
    const int length = std::snprintf(digits.data(), digits.size(), "%.*Lf", decimals, value);
    std::string text(digits.data(), std::min(digits.size() - 1, static_cast<std::size_t>(std::max(length, 0))));
    const auto point = static_cast<std::ptrdiff_t>(std::min(text.find('.'), text.size()));
    for (std::ptrdiff_t at = point - 3; at > (value < 0 ? 1 : 0); at -= 3)
        text.insert(static_cast<std::size_t>(at), 1, ' ');
    switch (dimension) {
        case Dimension::bytes:
            return text + " B";
        case Dimension::rate:
            return text + " B/s";
        case Dimension::duration:
            return text + " ns";
        case Dimension::cycles:
            return text + " cycles";
        case Dimension::share:
            return text + " %";
        case Dimension::number:
            break;
    }
    return text;
}

}  // namespace

std::pair<std::string, std::string> format_apart(Quantity first, Quantity second, Dimension dimension) {
    std::pair<std::string, std::string> texts{format_quantity(first, dimension), format_quantity(second, dimension)};
    constexpr int kMostDecimals = 21;  // a long double has no more digits
    const auto with = [&](int decimals) {
        return std::pair(format_exactly(first, dimension, decimals), format_exactly(second, dimension, decimals));
    };
    // A whole number has no decimals beside one that is rounded to two: "0" and "0.00" are as good as alike.
    const auto rounded = dimension == Dimension::number ? with(2) : texts;
    if (first == second || rounded.first != rounded.second)
        return texts;
    // What is rounded to one decimal of a per cent gets more than that.
    int decimals = dimension == Dimension::share ? 2 : 0;
    do
        texts = with(decimals);
    while (texts.first == texts.second && ++decimals <= kMostDecimals);
    return texts;
}

Result<std::uint32_t> parse_share(std::string_view text) {
    const auto refuse_share = [] { return error("", "is not '1/N'", "write it as 1/64: one in 64"); };
    if (!text.starts_with("1/"))
        return refuse_share();
    std::uint32_t one_in = 0;
    const char* end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data() + 2, end, one_in);
    if (parsed.ec != std::errc() || parsed.ptr != end || one_in == 0)
        return refuse_share();
    return one_in;
}

Result<std::uint64_t> parse_whole(std::string_view text) {
    std::uint64_t value = 0;
    const char* end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, value);
    if (parsed.ec == std::errc::result_out_of_range)
        return error("", "is too large", "the largest whole number is 18446744073709551615");
    if (parsed.ec != std::errc() || parsed.ptr != end)
        return error("", "is not a whole number", "write it as 500");
    return value;
}

}  // namespace egpu
