// SPDX-License-Identifier: Apache-2.0
#include "base/units.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace egpu {
namespace {

/// Three significant digits, four where the integer part has three ("134.2").
std::string significant(double value) {
    if (value >= 100)
        return fmt::format("{:.1f}", value);
    if (value >= 10)
        return fmt::format("{:.1f}", value);
    return fmt::format("{:.2f}", value);
}

template <std::size_t N>
std::string scaled(double value, double step, const std::array<const char*, N>& units, const char* suffix) {
    std::size_t unit = 0;
    while (unit + 1 < N && value >= step * 0.9995) {
        value /= step;
        ++unit;
    }
    if (unit == 0)
        return fmt::format("{:.0f} {}{}", value, units[0], suffix);
    return fmt::format("{} {}{}", significant(value), units[unit], suffix);
}

constexpr std::array<const char*, 7> kDecimal = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
constexpr std::array<const char*, 5> kBinary = {"B", "KiB", "MiB", "GiB", "TiB"};

}  // namespace

std::string format_bytes(double bytes) {
    return scaled(bytes, 1000, kDecimal, "");
}

std::string format_memory(std::uint64_t bytes) {
    double value = static_cast<double>(bytes);
    std::size_t unit = 0;
    while (unit + 1 < kBinary.size() && value >= 1024) {
        value /= 1024;
        ++unit;
    }
    return value == std::floor(value) ? fmt::format("{:.0f} {}", value, kBinary[unit])
                                      : fmt::format("{:.1f} {}", value, kBinary[unit]);
}

std::string format_rate(double bytes_per_second) {
    return scaled(bytes_per_second, 1000, kDecimal, "/s");
}

std::string format_duration_ns(double nanoseconds) {
    if (nanoseconds < 1000)
        return fmt::format("{:.0f} ns", nanoseconds);
    if (nanoseconds < 1e6)
        return fmt::format("{} us", significant(nanoseconds / 1e3));
    if (nanoseconds < 1e9)
        return fmt::format("{} ms", significant(nanoseconds / 1e6));
    return fmt::format("{} s", significant(nanoseconds / 1e9));
}

std::string format_count(std::uint64_t count) {
    std::string digits = std::to_string(count);
    for (std::ptrdiff_t at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3)
        digits.insert(static_cast<std::size_t>(at), 1, ' ');
    return digits;
}

std::string format_percent(double fraction) {
    return fmt::format("{:.1f} %", fraction * 100);
}

}  // namespace egpu
