// SPDX-License-Identifier: Apache-2.0
#include "ui/model/value_scale.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace egpu::ui {
namespace {

constexpr Time kSecond = 1'000'000'000;

std::vector<std::string> labels(const std::vector<Tick>& ticks) {
    std::vector<std::string> texts;
    for (const auto& tick : ticks)
        if (!tick.label.empty())
            texts.push_back(tick.label);
    return texts;
}

using Texts = std::vector<std::string>;

TEST(ValueScale, PixelsAndValuesAreInverse) {
    for (const bool logarithmic : {false, true}) {
        const ValueScale scale{{1, 1000}, logarithmic, 20, 300};
        for (const double value : {1.0, 3.0, 31.6, 999.0})
            EXPECT_NEAR(scale.to_value(scale.to_pixel(value)), value, value * 1e-9);
        EXPECT_DOUBLE_EQ(scale.to_pixel(1000), 20);
        EXPECT_DOUBLE_EQ(scale.to_pixel(1), 320);
    }
    const ValueScale scale{{1, 1000}, true, 20, 300};
    EXPECT_NEAR(scale.to_pixel(std::sqrt(1000)), 170, 1e-9);
    EXPECT_DOUBLE_EQ(scale.to_pixel(0), 320);  // no logarithm: at the bottom
    EXPECT_DOUBLE_EQ(scale.to_pixel(-5), 320);
}

TEST(ValueScale, RangesAreRound) {
    EXPECT_EQ(round_range(1, 0, false), (ValueRange{0, 1}));  // nothing known
    EXPECT_EQ(round_range(0, 0, false), (ValueRange{0, 1}));
    EXPECT_EQ(round_range(0, 94, false), (ValueRange{0, 100}));
    EXPECT_EQ(round_range(5, 2.1e12, false), (ValueRange{0, 2.5e12}));
    EXPECT_LT(round_range(-3, 94, false).low, -3);
    EXPECT_EQ(round_range(3, 4200, true), (ValueRange{1, 10'000}));
    EXPECT_EQ(round_range(100, 100, true), (ValueRange{100, 1000}));
}

TEST(ValueScale, AnAxisStaysUntilItNoLongerFits) {
    const ValueRange shown{0, 100};
    EXPECT_TRUE(still_fits(shown, 0, 95, false));
    EXPECT_TRUE(still_fits(shown, 0, 40, false));
    EXPECT_FALSE(still_fits(shown, 0, 101, false));
    EXPECT_FALSE(still_fits(shown, 0, 20, false));
    EXPECT_TRUE(still_fits(shown, 1, 0, false));  // nothing to show
}

TEST(ValueTicks, LinearLabelsAreRoundAndHaveUnits) {
    EXPECT_EQ(labels(value_ticks({0, 2.5e12}, false, Unit::bytes_per_second, 5)),
              (Texts{"0 B/s", "500 GB/s", "1 TB/s", "1.5 TB/s", "2 TB/s", "2.5 TB/s"}));
    EXPECT_EQ(labels(value_ticks({0, 1}, false, Unit::number, 2)), (Texts{"0", "0.5", "1"}));
    EXPECT_TRUE(value_ticks({1, 1}, false, Unit::number, 5).empty());
}

TEST(ValueTicks, LogarithmicLabelsAreDecades) {
    EXPECT_EQ(labels(value_ticks({100, 1e6}, true, Unit::cycles, 5)), (Texts{"100", "1 k", "10 k", "100 k", "1 M"}));
    EXPECT_EQ(labels(value_ticks({100, 1000}, true, Unit::nanoseconds, 5)),
              (Texts{"100 ns", "200 ns", "500 ns", "1 us"}));
    EXPECT_TRUE(value_ticks({0, 10}, true, Unit::number, 5).empty());
}

TEST(TimeTicks, RoundSecondsMinutesAndParts) {
    EXPECT_EQ(labels(time_ticks(0, 30 * kSecond, 6)), (Texts{"0:00", "0:05", "0:10", "0:15", "0:20", "0:25", "0:30"}));
    EXPECT_EQ(labels(time_ticks(3590 * kSecond, 3610 * kSecond, 2)), (Texts{"59:50", "1:00:00", "1:00:10"}));
    EXPECT_EQ(labels(time_ticks(kSecond, kSecond + kSecond / 100, 2)), (Texts{"1.000 s", "1.005 s", "1.010 s"}));
    EXPECT_EQ(labels(time_ticks(-10 * kSecond, 0, 2)), (Texts{"-0:10", "-0:05", "0:00"}));
    EXPECT_TRUE(time_ticks(5, 5, 3).empty());
    EXPECT_LE(time_ticks(0, Time{400} * 24 * 3600 * kSecond, 8).size(), 10u);
}

}  // namespace
}  // namespace egpu::ui
