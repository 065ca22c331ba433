// SPDX-License-Identifier: Apache-2.0
// From samples of a session to points of lines: rates over a window, gaps for what is not known, charts from BTF alone.
#include "ui/model/line_maker.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

namespace egpu::ui {
namespace {

constexpr std::uint64_t kStep = 50'000'000;  // ns between samples

/// A session of one kernel on the simulated GPU, sampled 20 times a second.
class LineMakerTest : public testing::Test {
protected:
    LineMakerTest() {
        view_.simulated = true;
        host::Kernel kernel;
        kernel.id = 1;
        kernel.name = "vector_add";
        view_.catalogue.kernels.push_back(kernel);
    }

    std::uint32_t session_series(host::SessionField field, std::uint32_t kernel, std::uint32_t clock) {
        host::Series series;
        series.map = host::kSessionMap;
        series.field = host::to_name(field);
        series.unit = host::SeriesUnit::bytes;
        series.kernel_id = kernel;
        series.clock = clock;
        return table_.add(series);
    }

    /// The next sample with these points; the update that came of it.
    Update sample(std::vector<host::Point> points, std::vector<host::HistogramPoint> histograms = {}) {
        host::Sample sample;
        ++samples_;
        sample.monotonic_ns = samples_ * kStep;
        sample.unix_ns = static_cast<std::int64_t>(sample.monotonic_ns);
        sample.clocks.assign(4, sample.monotonic_ns);
        sample.points = std::move(points);
        sample.histograms = std::move(histograms);
        Update update;
        maker_.add(sample, table_, view_, static_cast<Time>(sample.monotonic_ns), update);
        for (const auto& line : update.lines)
            lines_.push_back(line);
        return update;
    }
    /// The value of a line; nullopt where the update has none.
    std::optional<double> value(const Update& update, const std::string& chart, const std::string& name) {
        for (const auto& each : update.values)
            if (lines_[each.line].chart == chart && lines_[each.line].name == name)
                return each.value;
        return std::nullopt;
    }
    const LineDefinition* line(const std::string& name) {
        for (const auto& each : lines_)
            if (each.name == name)
                return &each;
        return nullptr;
    }

    host::SeriesTable table_;
    host::SessionView view_;
    LineMaker maker_;
    std::vector<LineDefinition> lines_;
    std::uint64_t samples_ = 0;
};

TEST_F(LineMakerTest, BandwidthIsBytesOverTheWindow) {
    const auto read = session_series(host::SessionField::read_bytes, 0, host::kTrafficClock);
    const auto written = session_series(host::SessionField::written_bytes, 0, host::kTrafficClock);
    Update last;
    for (std::uint64_t i = 1; i <= 30; ++i)
        last = sample({{read, 1, i * 1000}, {written, 1, i * 500}});
    EXPECT_NEAR(*value(last, "session/bandwidth", "all kernels, read"), 20'000, 1);
    EXPECT_NEAR(*value(last, "session/bandwidth", "all kernels, written"), 10'000, 1);
    EXPECT_EQ(line("all kernels, read")->unit, Unit::bytes_per_second);
    EXPECT_NE(line("all kernels, read")->colour_of, line("all kernels, written")->colour_of);
}

TEST_F(LineMakerTest, WhatIsNotKnownIsAGap) {
    const auto read = session_series(host::SessionField::read_bytes, 0, host::kTrafficClock);
    session_series(host::SessionField::written_bytes, 0, host::kTrafficClock);
    Update first = sample({{read, 1, 1000}});
    EXPECT_TRUE(std::isnan(*value(first, "session/bandwidth", "all kernels, read"))) << "no window yet";
    for (std::uint64_t i = 2; i <= 10; ++i)
        first = sample({{read, 1, i * 1000}});
    EXPECT_FALSE(std::isnan(*value(first, "session/bandwidth", "all kernels, read")));
    EXPECT_TRUE(std::isnan(*value(first, "session/bandwidth", "all kernels, written"))) << "never had a value";
    Update lost;
    for (int i = 0; i < 40; ++i)
        lost = sample({{read, 0, 0}});
    EXPECT_TRUE(std::isnan(*value(lost, "session/bandwidth", "all kernels, read")));
}

TEST_F(LineMakerTest, ACounterOfAnyMapBecomesALineInTheColourOfItsKernel) {
    host::Series series;
    series.map = "mine/sums";
    series.field = "lost_bytes";
    series.unit = host::SeriesUnit::bytes;
    series.kernel_id = 1;
    series.label = "vector_add store";
    series.access = "store";
    series.clock = host::kFirstMapClock;
    const auto id = table_.add(series);
    const auto launches = session_series(host::SessionField::launches, 1, host::kSessionClock);
    const auto all = session_series(host::SessionField::launches, 0, host::kSessionClock);
    Update last;
    for (std::uint64_t i = 1; i <= 30; ++i)
        last = sample({{id, 1, i * 7}, {launches, 1, i}, {all, 1, i}});
    EXPECT_NEAR(*value(last, "mine/sums/lost_bytes", "vector_add store"), 140, 1);
    ASSERT_NE(line("vector_add store"), nullptr);
    EXPECT_EQ(line("vector_add store")->chart_title, "mine/sums: lost bytes");
    EXPECT_EQ(line("vector_add store")->unit, Unit::bytes_per_second);
    EXPECT_EQ(line("vector_add store")->stroke, Stroke::dashed);
    EXPECT_EQ(line("vector_add store")->colour_of, line("vector_add")->colour_of);
    EXPECT_NEAR(*value(last, "session/launches", "vector_add"), 20, 0.1);
}

TEST_F(LineMakerTest, AHistogramBecomesPercentilesInItsUnit) {
    host::Series series;
    series.kind = host::SeriesKind::histogram;
    series.map = "latency/load_latency";
    series.field = "load_latency";
    series.unit = host::SeriesUnit::cycles;
    series.kernel_id = 1;
    series.clock = host::kFirstMapClock;
    const auto id = table_.add(series);
    Update last;
    host::HistogramPoint point;
    point.series = id;
    point.epoch = 1;
    for (std::uint64_t i = 1; i <= 30; ++i) {
        point.slots[8] += 95;
        point.slots[12] += 5;
        last = sample({}, {point});
    }
    const double p50 = *value(last, "latency/load_latency/load_latency", "all kernels, p50");
    const double p99 = *value(last, "latency/load_latency/load_latency", "vector_add, p99");
    EXPECT_TRUE(p50 >= 256 && p50 < 512) << p50;
    EXPECT_TRUE(p99 >= 4096 && p99 < 8192) << p99;
    EXPECT_EQ(line("all kernels, p50")->unit, Unit::simulated_cycles);
    EXPECT_TRUE(line("all kernels, p50")->logarithmic);
}

TEST_F(LineMakerTest, TitlesSayNothingTwice) {
    const auto counter = [&](const char* map, const char* field, host::SeriesKind kind) {
        host::Series series;
        series.map = map;
        series.field = field;
        series.kind = kind;
        series.unit = host::SeriesUnit::cycles;
        series.label = std::string(map) + field;
        series.clock = host::kFirstMapClock;
        table_.add(series);
    };
    counter("hello/warps", "warps", host::SeriesKind::counter);
    counter("mine/sums", "hits", host::SeriesKind::counter);
    counter("latency/load_latency", "load_latency", host::SeriesKind::histogram);
    counter("mine/waits", "waits", host::SeriesKind::histogram);
    sample({});
    std::set<std::string> titles;
    for (const auto& each : lines_)
        titles.insert(each.chart_title);
    EXPECT_EQ(titles, (std::set<std::string>{"hello/warps", "mine/sums: hits", "latency/load_latency",
                                             "Latency of mine/waits"}));
}

TEST_F(LineMakerTest, TotalsLieWideUnderTheirParts) {
    session_series(host::SessionField::read_bytes, 0, host::kTrafficClock);
    session_series(host::SessionField::read_bytes, 1, host::kTrafficClock);
    sample({});
    EXPECT_TRUE(line("all kernels, read")->wide);
    EXPECT_TRUE(line("all kernels, written")->wide);
    EXPECT_FALSE(line("vector_add, read")->wide);
}

TEST_F(LineMakerTest, SimulatedNanosecondsAreNoTime) {
    host::Series series;
    series.kind = host::SeriesKind::histogram;
    series.map = "mine/waits";
    series.field = "waits";
    series.unit = host::SeriesUnit::nanoseconds;
    series.clock = host::kFirstMapClock;
    table_.add(series);
    sample({});
    ASSERT_NE(line("all kernels, p50"), nullptr);
    EXPECT_EQ(line("all kernels, p50")->unit, Unit::simulated_nanoseconds);
    EXPECT_EQ(line("all kernels, p50")->chart_title, "Latency of mine/waits");
    view_.simulated = false;
    maker_ = LineMaker();
    lines_.clear();
    sample({});
    EXPECT_EQ(line("all kernels, p50")->unit, Unit::nanoseconds);
}

TEST_F(LineMakerTest, KernelsOfOneNameAreToldApart) {
    host::Kernel second = view_.catalogue.kernels[0];
    second.id = 2;
    view_.catalogue.kernels.push_back(second);
    session_series(host::SessionField::launches, 0, host::kSessionClock);
    session_series(host::SessionField::launches, 2, host::kSessionClock);
    session_series(host::SessionField::launches, 1, host::kSessionClock);
    sample({});
    std::map<std::string, std::string> colours;
    for (const auto& each : lines_)
        colours[each.name] = each.colour_of;
    EXPECT_EQ(colours, (std::map<std::string, std::string>{
                           {"all kernels", "all kernels"}, {"vector_add", "kernel 1"}, {"vector_add #2", "kernel 2"}}));
}

TEST_F(LineMakerTest, SitesThatReadAlikeAreNumberedByTheirIds) {
    const auto add = [&](std::uint32_t site) {
        host::Series series;
        series.map = "mine/waits";
        series.field = "n";
        series.label = "vector_add a.cu:3 ld";
        series.kernel_id = 1;
        series.site_id = site;
        series.clock = host::kFirstMapClock;
        return table_.add(series);
    };
    const auto later = add(7), earlier = add(4);
    sample({});
    const auto name_of = [&](std::uint32_t series) {
        for (const auto& each : lines_)
            if (each.id == "series " + std::to_string(series))
                return each.name;
        return std::string();
    };
    EXPECT_EQ(name_of(earlier), "vector_add a.cu:3 ld");
    EXPECT_EQ(name_of(later), "vector_add a.cu:3 ld #2");
    const auto between = add(5);  // ran for the first time: those before keep their names
    sample({});
    EXPECT_EQ(name_of(between), "vector_add a.cu:3 ld #3");
}

TEST_F(LineMakerTest, TooManyLinesAreSaidOnce) {
    std::vector<host::Point> points;
    for (std::uint32_t i = 0; i < kMostLines + 20; ++i) {
        host::Series series;
        series.map = "mine/many";
        series.field = "n";
        series.unit = host::SeriesUnit::count;
        series.label = std::to_string(i);
        series.clock = host::kFirstMapClock;
        points.push_back({table_.add(series), 1, 1});
    }
    const Update first = sample(points);
    EXPECT_EQ(first.lines.size(), kMostLines);
    EXPECT_EQ(first.messages.size(), 1u);
    EXPECT_TRUE(sample(points).messages.empty());
}

}  // namespace
}  // namespace egpu::ui
