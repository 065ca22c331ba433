// SPDX-License-Identifier: Apache-2.0
#include "ui/model/value_scale.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace egpu::ui {
namespace {

constexpr double kSmallest = 1e-300;
constexpr Time kSecond = 1'000'000'000;

/// The smallest 1, 2 or 5 times a power of ten that is not below `value`.
double round_up(double value) {
    const double power = std::pow(10, std::floor(std::log10(value)));
    for (const double step : {1.0, 2.0, 5.0})
        if (step * power >= value * (1 - 1e-9))
            return step * power;
    return 10 * power;
}

std::string time_label(Time time, Time step) {
    const std::string sign = time < 0 ? "-" : "";
    const Time absolute = time < 0 ? -time : time;
    if (step < kSecond) {
        const int digits = step >= kSecond / 10 ? 1 : step >= kSecond / 100 ? 2 : step >= kSecond / 1000 ? 3 : 6;
        return fmt::format("{}{:.{}f} s", sign, static_cast<double>(absolute) / 1e9, digits);
    }
    return clock_text(time);
}

std::vector<Tick> log_ticks(const ValueRange& range, Unit unit) {
    std::vector<Tick> ticks;
    const int first = static_cast<int>(std::floor(std::log10(range.low) + 1e-9));
    const int last = static_cast<int>(std::ceil(std::log10(range.high) - 1e-9));
    const int every = std::max(1, (last - first) / 6);
    for (int decade = first; decade <= last; ++decade) {
        const double power = std::pow(10, decade);
        const bool labelled = (decade - first) % every == 0;
        ticks.push_back({power, labelled ? axis_text(power, unit) : std::string()});
        for (int step = 2; step < 10 && last - first <= 6 && decade < last; ++step)
            ticks.push_back({step * power, last - first == 1 && (step == 2 || step == 5) ? axis_text(step * power, unit)
                                                                                         : std::string()});
    }
    return ticks;
}

}  // namespace

double ValueScale::to_pixel(double value) const {
    if (!logarithmic)
        return top + height - (value - range.low) / (range.high - range.low) * height;
    const double low = std::log10(std::max(range.low, kSmallest)), high = std::log10(range.high);
    if (!(value > range.low))
        return top + height;
    return top + height - (std::log10(value) - low) / (high - low) * height;
}

double ValueScale::to_value(double pixel) const {
    const double share = (top + height - pixel) / height;
    if (!logarithmic)
        return range.low + share * (range.high - range.low);
    const double low = std::log10(std::max(range.low, kSmallest)), high = std::log10(range.high);
    return std::pow(10, low + share * (high - low));
}

ValueRange round_range(double low, double high, bool logarithmic) {
    if (!(low <= high))
        return logarithmic ? ValueRange{1, 10} : ValueRange{0, 1};
    if (logarithmic) {
        const double positive = low > 0 ? low : high > 0 ? high / 1000 : 1;
        const double bottom = std::pow(10, std::floor(std::log10(positive)));
        const double top = std::pow(10, std::ceil(std::log10(std::max(high, positive)) + 1e-9));
        return {bottom, std::max(top, bottom * 10)};
    }
    if (high <= 0 && low >= 0)
        return {0, 1};
    const double reach = std::max(std::abs(low), std::abs(high)) * 1.05;
    const double step = round_up(reach / 5);
    return {low < 0 ? std::floor(low * 1.05 / step) * step : 0, high > 0 ? std::ceil(high * 1.05 / step) * step : 0};
}

bool still_fits(const ValueRange& shown, double low, double high, bool logarithmic) {
    if (!(low <= high))
        return true;
    if (logarithmic) {
        const ValueRange wanted = round_range(low, high, true);
        return wanted.low >= shown.low && wanted.high <= shown.high &&
               std::log10(shown.high / shown.low) - std::log10(wanted.high / wanted.low) < 1.5;
    }
    const double height = shown.high - shown.low;
    return low >= shown.low && high <= shown.high && std::max(high, 0.0) - std::min(low, 0.0) > height / 3;
}

std::vector<Tick> value_ticks(const ValueRange& range, bool logarithmic, Unit unit, int wanted) {
    if (!(range.high > range.low))
        return {};
    if (logarithmic)
        return range.low > 0 ? log_ticks(range, unit) : std::vector<Tick>();
    std::vector<Tick> ticks;
    const double step = round_up((range.high - range.low) / std::max(wanted, 1));
    const double first = std::ceil(range.low / step - 1e-9);
    const double last = std::floor(range.high / step + 1e-9);
    for (double i = first; i <= last; ++i) {
        const double value = i * step + 0.0;  // no -0
        ticks.push_back({value, axis_text(value, unit, step)});
    }
    return ticks;
}

std::vector<Tick> time_ticks(Time begin, Time end, int wanted) {
    if (end <= begin)
        return {};
    constexpr std::array<Time, 12> kRound = {1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600};
    const double ideal = static_cast<double>(end - begin) / std::max(wanted, 1);
    Time step = 0;
    if (ideal < static_cast<double>(kSecond)) {
        step = std::max<Time>(1000, static_cast<Time>(round_up(ideal)));
    } else {
        for (const Time seconds : kRound)
            if (step == 0 && static_cast<double>(seconds * kSecond) >= ideal)
                step = seconds * kSecond;
        while (step == 0 || static_cast<double>(step) < ideal)
            step = step == 0 ? 3600 * kSecond : step * 2;
    }
    std::vector<Tick> ticks;
    Time first = begin / step * step;
    if (first < begin)
        first += step;
    for (Time time = first; time <= end; time += step)
        ticks.push_back({static_cast<double>(time), time_label(time, step)});
    return ticks;
}

}  // namespace egpu::ui
