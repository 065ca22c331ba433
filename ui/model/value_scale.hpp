// SPDX-License-Identifier: Apache-2.0
// ValueScale: values over pixels, linear or logarithmic; and the round numbers at which an axis has marks.
#pragma once

#include <string>
#include <vector>

#include "ui/model/series_buffer.hpp"
#include "ui/model/unit.hpp"

namespace egpu::ui {

struct ValueRange {
    double low = 0;
    double high = 1;
    bool operator==(const ValueRange&) const = default;
};

struct ValueScale {
    ValueRange range;
    bool logarithmic = false;
    double top = 0;
    double height = 1;

    /// Pixels grow downwards. On a logarithmic axis what is not positive lies at the bottom.
    double to_pixel(double value) const;
    double to_value(double pixel) const;
};

/// A range that begins at 0 (linear) or at a decade (logarithmic), holds [low, high] and ends at a round number.
/// Nothing known (low > high): 0 to 1, or a decade.
ValueRange round_range(double low, double high, bool logarithmic);
/// True where `shown` needs no change for [low, high]: it holds it, and wastes less than two thirds of its height.
/// Without this an axis would jump with every point.
bool still_fits(const ValueRange& shown, double low, double high, bool logarithmic);

struct Tick {
    double position = 0;  ///< a value, or a time in ns
    std::string label;    ///< "" for a small mark between labelled ones
};

/// About `wanted` marks at 1, 2 or 5 times a power of ten; logarithmic: decades, with small marks between them.
std::vector<Tick> value_ticks(const ValueRange& range, bool logarithmic, Unit unit, int wanted);
/// Marks at round seconds, minutes, hours since 0: "0:42", "1:02:00", "42.25 s".
std::vector<Tick> time_ticks(Time begin, Time end, int wanted);

}  // namespace egpu::ui
