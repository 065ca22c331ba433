// SPDX-License-Identifier: Apache-2.0
#include "ui/model/charts.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace egpu::ui {
namespace {

Chart named(const std::string& id) {
    Chart chart;
    chart.id = id;
    chart.title = id;
    chart.unit = Unit::bytes_per_second;
    return chart;
}

TEST(Charts, ALineHasOneColourInEveryChart) {
    Charts charts;
    Chart& first = charts.add(named("first"));
    Chart& second = charts.add(named("second"));
    charts.append(first, "a", "a", 0, 1);
    charts.append(first, "b", "b", 0, 1);
    charts.append(second, "b", "b", 0, 1);
    EXPECT_EQ(second.traces[0]->style, first.traces[1]->style);
    EXPECT_NE(first.traces[0]->style, first.traces[1]->style);
}

TEST(Charts, ColoursThatComeAgainHaveAnotherStroke) {
    Palette palette;
    std::set<std::pair<std::size_t, Stroke>> seen;
    for (int i = 0; i < 24; ++i) {
        const auto style = palette.style(std::to_string(i));
        EXPECT_TRUE(seen.insert({style.colour, style.stroke}).second) << i;
    }
}

TEST(Charts, LinesBeyondTheFirstStartHidden) {
    Charts charts;
    Chart& chart = charts.add(named("x"));
    for (int i = 0; i < 20; ++i)
        charts.append(chart, std::to_string(i), std::to_string(i), 0, 1);
    EXPECT_EQ(chart.hidden(), 20 - Chart::kShownAtFirst);
}

TEST(Charts, AnEmptyChartSaysWhy) {
    Charts charts;
    Chart& chart = charts.add(named("x"));
    chart.why_empty = "too short";
    EXPECT_EQ(chart.empty_text(), "too short") << "no line so far";
    Trace& trace = charts.append(chart, "a", "a", 0, std::nan(""));
    charts.append(trace, 1, std::nan(""));
    EXPECT_EQ(chart.empty_text(), "too short") << "a ticked line without a value";
    trace.visible = false;
    EXPECT_NE(chart.empty_text().find("tick one"), std::string::npos);
    trace.visible = true;
    charts.append(trace, 2, 1);
    EXPECT_EQ(chart.empty_text(), "");
    charts.append(trace, 3, std::nan(""));
    EXPECT_EQ(chart.empty_text(), "") << "a gap later takes nothing away";
}

TEST(Charts, ExtentForgetsWhatTheRingsForgot) {
    Charts charts(10);
    Chart& chart = charts.add(named("x"));
    EXPECT_FALSE(charts.extent());
    for (int i = 0; i < 25; ++i)
        charts.append(chart, "a", "a", i, i);
    EXPECT_EQ(*charts.extent(), (TimeRange{15, 24}));
}

TEST(Charts, ABreakIsAGapInEveryLine) {
    Charts charts;
    Chart& chart = charts.add(named("x"));
    charts.append(chart, "a", "a", 1, 5);
    charts.break_lines(2);
    EXPECT_TRUE(std::isnan(chart.traces[0]->points.last()->value));
}

TEST(Csv, VisibleLinesOfTheRangeWithUnitsGapsAndQuotes) {
    Charts charts;
    Chart& chart = charts.add(named("x"));
    charts.append(chart, "a", "f<a, b>", 0, 1);
    charts.append(chart, "b", "plain", 0, 2.25);
    charts.append(chart, "a", "f<a, b>", 500'000'000, std::nan(""));
    charts.append(chart, "b", "plain", 500'000'000, 3e12);
    charts.append(chart, "b", "plain", 1'000'000'000, 4);
    charts.append(chart, "hidden", "hidden", 0, 9);
    chart.traces[2]->visible = false;
    EXPECT_EQ(to_csv(chart, {0, 600'000'000}),
              "time_s,\"f<a, b> [bytes_per_s]\",plain [bytes_per_s]\n"
              "0,1,2.25\n"
              "0.5,,3000000000000\n");
}

TEST(Csv, SimulatedTimeIsNamedInTheHead) {
    Charts charts;
    Chart& chart = charts.add(named("x"));
    chart.unit = Unit::simulated_nanoseconds;
    charts.append(chart, "a", "p50", 0, 7);
    EXPECT_EQ(to_csv(chart, {0, 1}), "time_s,p50 [simulated_ns]\n0,7\n");
}

}  // namespace
}  // namespace egpu::ui
