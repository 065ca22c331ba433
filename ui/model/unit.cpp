// SPDX-License-Identifier: Apache-2.0
#include "ui/model/unit.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

#include "base/units.hpp"

namespace egpu::ui {
namespace {

constexpr std::array<const char*, 7> kDecimal = {"", "k", "M", "G", "T", "P", "E"};
constexpr const char* kUnknown = "n/a";

/// What stands behind the prefix.
const char* symbol(Unit unit) {
    switch (unit) {
        case Unit::bytes_per_second:
            return "B/s";
        case Unit::per_second:
            return "/s";
        case Unit::nanoseconds:
        case Unit::simulated_nanoseconds:
            return "ns";
        case Unit::cycles:
        case Unit::simulated_cycles:
            return "cycles";
        case Unit::bytes:
            return "B";
        case Unit::number:
            return "";
    }
    return "";
}

/// Read as "63.4 us".
bool is_time(Unit unit) {
    return unit == Unit::nanoseconds || unit == Unit::simulated_nanoseconds;
}

/// The power of 1000 that leaves a number of one to three digits before the point.
int thousands(double value) {
    int power = 0;
    for (double rest = std::abs(value); rest >= 999.5 && power + 1 < static_cast<int>(kDecimal.size()); rest /= 1000)
        ++power;
    return power;
}

std::string joined(const std::string& number, const char* prefix, const char* behind) {
    const std::string unit = fmt::format("{}{}", prefix, behind);
    return unit.empty() ? number : number + " " + unit;
}

/// Three significant digits, without zeroes that say nothing.
std::string three_digits(double value) {
    const double size = std::abs(value);
    std::string text = fmt::format("{:.{}f}", value, size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 || size == 0 ? 2 : 3);
    if (text.find('.') != std::string::npos) {
        text.erase(text.find_last_not_of('0') + 1);
        if (text.back() == '.')
            text.pop_back();
    }
    return text;
}

std::string time_axis_text(double value, double step) {
    constexpr std::array<std::pair<double, const char*>, 4> kUnits = {
        {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}}};
    for (const auto& [size, name] : kUnits)
        if (std::abs(value) >= size)
            return fmt::format("{} {}", three_digits(value / size), name);
    return step >= 1 || value == 0 ? fmt::format("{} ns", three_digits(value)) : fmt::format("{} ns", value);
}

}  // namespace

const char* unit_name(Unit unit) {
    switch (unit) {
        case Unit::bytes_per_second:
            return "bytes/s";
        case Unit::per_second:
            return "1/s";
        case Unit::nanoseconds:
            return "time";
        case Unit::simulated_nanoseconds:
            return "simulated ns";
        case Unit::cycles:
            return "cycles";
        case Unit::simulated_cycles:
            return "simulated cycles";
        case Unit::bytes:
            return "bytes";
        case Unit::number:
            return "";
    }
    return "";
}

bool is_duration(Unit unit) {
    return is_time(unit) || unit == Unit::cycles || unit == Unit::simulated_cycles;
}

std::string human_text(double value, Unit unit) {
    if (std::isnan(value))
        return kUnknown;
    if (is_time(unit))
        return value < 0 ? "-" + format_duration_ns(-value) : format_duration_ns(value);
    const int power = thousands(value);
    const double scaled = value / std::pow(1000, power);
    const char* prefix = kDecimal[static_cast<std::size_t>(power)];
    // Fixed digits: a figure that is read while it moves may not change its width with every value.
    const double size = std::abs(scaled);
    const bool whole = power == 0 && value == std::floor(value) && unit != Unit::bytes_per_second;
    return joined(fmt::format("{:.{}f}", scaled,
                              whole         ? 0
                              : size >= 100 ? 1
                              : size >= 10  ? 1
                                            : 2),
                  prefix, symbol(unit));
}

std::string exact_text(double value, Unit unit) {
    if (std::isnan(value))
        return kUnknown;
    if (!(std::abs(value) < 9e18))
        return joined(fmt::format("{:.6g}", value), "", symbol(unit));
    std::string text = format_count(static_cast<std::uint64_t>(std::abs(value)));
    const double rest = std::abs(value) - std::floor(std::abs(value));
    if (std::abs(value) < 1e6 && rest > 0)
        text += fmt::format("{:.3f}", rest).substr(1);
    return joined((value < 0 ? "-" : "") + text, "", symbol(unit));
}

std::string axis_text(double value, Unit unit, double step) {
    if (is_time(unit))
        return time_axis_text(value, step);
    const int power = thousands(value);
    const bool spelled = unit == Unit::cycles || unit == Unit::simulated_cycles;  // the title says so
    return joined(three_digits(value / std::pow(1000, power)), kDecimal[static_cast<std::size_t>(power)],
                  spelled ? "" : symbol(unit));
}

std::string clock_text(std::int64_t nanoseconds) {
    const std::string sign = nanoseconds < 0 ? "-" : "";
    const std::int64_t seconds = (nanoseconds < 0 ? -nanoseconds : nanoseconds) / 1'000'000'000;
    if (seconds >= 3600)
        return fmt::format("{}{}:{:02}:{:02}", sign, seconds / 3600, seconds / 60 % 60, seconds % 60);
    return fmt::format("{}{}:{:02}", sign, seconds / 60, seconds % 60);
}

std::string span_text(double nanoseconds) {
    if (nanoseconds < 1e3)
        return fmt::format("{:.0f} ns", nanoseconds);
    if (nanoseconds < 1e6)
        return fmt::format("{} us", three_digits(nanoseconds / 1e3));
    if (nanoseconds < 1e9)
        return fmt::format("{} ms", three_digits(nanoseconds / 1e6));
    if (nanoseconds < 120e9)
        return fmt::format("{} s", three_digits(nanoseconds / 1e9));
    if (nanoseconds < 7200e9)
        return fmt::format("{} min", three_digits(nanoseconds / 60e9));
    return fmt::format("{} h", three_digits(nanoseconds / 3600e9));
}

}  // namespace egpu::ui
