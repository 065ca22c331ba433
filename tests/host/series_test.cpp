// SPDX-License-Identifier: Apache-2.0
// Series, their samples, rates and percentiles: against brute force, and where there is nothing to be known.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>

#include "fake_source.hpp"
#include "host/series/rates.hpp"

namespace egpu::host::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::uint64_t kMs = 1'000'000;

std::size_t slot_of(std::uint64_t value) {
    return value == 0 ? 0 : static_cast<std::size_t>(std::bit_width(value) - 1);
}

TEST(Percentiles, LieInTheSlotOfTheTrueOne) {
    std::mt19937_64 random(20261130);
    for (int run = 0; run < 300; ++run) {
        std::vector<std::uint64_t> values;
        const auto count = 1 + random() % 400;
        const double spread = 1 + static_cast<double>(random() % 30);
        std::exponential_distribution<double> draw(1 / std::exp2(spread));
        for (std::uint64_t i = 0; i < count; ++i)
            values.push_back(static_cast<std::uint64_t>(draw(random)));
        HistogramSlots slots{};
        for (const auto value : values)
            ++slots[slot_of(value)];
        std::sort(values.begin(), values.end());
        for (const double share : {0.01, 0.5, 0.95, 0.99, 1.0}) {
            const auto rank =
                std::max<std::size_t>(static_cast<std::size_t>(std::ceil(share * static_cast<double>(count))), 1);
            const double estimate = percentile_of(slots, share);
            EXPECT_EQ(slot_of(static_cast<std::uint64_t>(estimate)), slot_of(values[rank - 1]))
                << share << " of " << count << " values: " << estimate << ", true " << values[rank - 1];
        }
        const auto all = percentiles_of(slots);
        ASSERT_TRUE(all);
        EXPECT_EQ(all->values, count);
        EXPECT_LE(all->p50, all->p95);
        EXPECT_LE(all->p95, all->p99);
    }
}

TEST(Percentiles, OfNothingAreNone) {
    EXPECT_FALSE(percentiles_of(HistogramSlots{}));
    HistogramSlots full{};
    full.fill(~std::uint64_t{0});
    EXPECT_TRUE(percentiles_of(full)) << "sums over 2^64 are no sums of 0";
}

/// One counter that a test moves.
struct Counter {
    SeriesTable table;
    RateWindow window;
    std::uint64_t now = 10'000 * kMs, value = 0, clock = 0;
    std::uint32_t epoch = 1;
    bool first = true;

    explicit Counter(std::uint64_t window_ns = kDefaultWindowNs) : window(window_ns) {
        Series series;
        series.clock = kFirstMapClock;
        table.add(series);
        clock = now;
    }
    void sample(std::uint64_t after_ns, std::uint64_t more, bool clock_moves = true) {
        now += after_ns;
        if (clock_moves)
            clock = now - 3 * kMs;
        value += more;
        Sample sample;
        sample.monotonic_ns = now;
        sample.clocks = {now, 0, clock};
        if (more != 0 || first)
            sample.points = {{0, epoch, value}};
        first = false;
        window.push(sample, table);
    }
    std::optional<double> rate() const { return window.rate(0); }
};

TEST(RateWindow, IsExactOverUnevenSamples) {
    std::mt19937_64 random(7);
    Counter counter;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> history;  // clock, value
    for (int i = 0; i < 400; ++i) {
        // In proportion to the time that passed: a steady 3 bytes a us, so that any window gives the same rate.
        const std::uint64_t gap = (20 + random() % 80) * kMs;
        counter.sample(gap, gap / 1000 * 3);
        if (i > 20) {
            ASSERT_TRUE(counter.rate());
            EXPECT_NEAR(*counter.rate(), 3e6, 1) << i;
        }
    }
}

TEST(RateWindow, AddsUpWhatCameInTheWindow) {
    std::mt19937_64 random(8);
    Counter counter;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> came;  // at which clock, how much
    for (int i = 0; i < 1000; ++i) {
        const std::uint64_t more = random() % 3 == 0 ? random() % 1'000'000 : 0;
        counter.sample(50 * kMs, more);
        came.emplace_back(counter.clock, more);
        if (i < 30)
            continue;
        std::uint64_t sum = 0;
        for (const auto& [at, amount] : came)
            sum += at > counter.clock - kDefaultWindowNs ? amount : 0;
        const auto growth = counter.window.growth(0);
        ASSERT_TRUE(growth);
        EXPECT_EQ(growth->amount, sum) << i;
        EXPECT_EQ(growth->ns, kDefaultWindowNs) << i;
    }
}

TEST(RateWindow, AfterALongPauseABurstIsOfTheWindowOnly) {
    Counter counter;
    for (int i = 0; i < 10; ++i)
        counter.sample(50 * kMs, 100);
    for (int i = 0; i < 200; ++i)
        counter.sample(50 * kMs, 0);
    EXPECT_EQ(counter.rate(), 0.0) << "it is known that nothing came";
    counter.sample(50 * kMs, 5000);
    EXPECT_NEAR(*counter.rate(), 5000, 1e-6);
}

TEST(RateWindow, GapsAreNoZeroes) {
    Counter counter;
    EXPECT_FALSE(counter.rate()) << "no sample";
    counter.sample(50 * kMs, 100);
    EXPECT_FALSE(counter.rate()) << "one sample says nothing";
    for (int i = 0; i < 30; ++i)
        counter.sample(50 * kMs, 100);
    ASSERT_TRUE(counter.rate());
    // It goes back: another epoch, and for a moment no rate; never a huge one.
    counter.value = 0;
    counter.epoch = 2;
    counter.sample(50 * kMs, 7);
    EXPECT_FALSE(counter.rate());
    for (int i = 0; i < 4; ++i)
        counter.sample(50 * kMs, 100);
    EXPECT_NEAR(*counter.rate(), 2000, 1) << "only of the new epoch";
    // Not known from here on.
    counter.epoch = 0;
    counter.sample(50 * kMs, 1);
    EXPECT_FALSE(counter.rate());
}

TEST(RateWindow, AClockThatStandsStillIsAGap) {
    Counter counter;
    for (int i = 0; i < 30; ++i)
        counter.sample(50 * kMs, 100);
    ASSERT_TRUE(counter.rate());
    for (int i = 0; i < 10; ++i)
        counter.sample(50 * kMs, 0, false);
    EXPECT_NEAR(*counter.rate(), 2000, 1) << "as of the last copy";
    for (int i = 0; i < 15; ++i)
        counter.sample(50 * kMs, 0, false);
    EXPECT_FALSE(counter.rate());
    counter.sample(50 * kMs, 100);
    EXPECT_TRUE(counter.rate());
}

TEST(RateWindow, DamagedSamplesHarmNothing) {
    Counter counter;
    Sample sample;
    sample.monotonic_ns = 1;
    sample.points = {{77, 1, 5}, {0, 1, 9}};
    sample.histograms = {{78, 1, {}}};
    counter.window.push(sample, counter.table);  // no clocks at all
    EXPECT_FALSE(counter.rate());
    EXPECT_FALSE(counter.window.rate(77));
    for (int i = 0; i < 10; ++i)
        counter.sample(50 * kMs, 10);
    counter.value = 3;
    counter.sample(50 * kMs, 1);  // back, in the same epoch
    EXPECT_FALSE(counter.rate());
}

class Sampled : public ::testing::Test {
protected:
    SessionView view = session_view({traffic_map("bandwidth"), latency_map()}, {"bandwidth", "latency"});
    Sampler sampler;

    const Series* find(const std::string& map, const std::string& field, const std::string& access = {}) const {
        for (const auto& series : sampler.series().all())
            if (series.map == map && series.field == field && (access.empty() || series.access == access))
                return &series;
        return nullptr;
    }
    static std::optional<Point> point(const Sample& sample, std::uint32_t series) {
        for (const auto& each : sample.points)
            if (each.series == series)
                return each;
        return std::nullopt;
    }
    std::optional<Point> total(const Sample& sample, SessionField field, std::uint32_t kernel = 0) const {
        const auto id = sampler.series().of_session(field, kernel);
        return id ? point(sample, *id) : std::nullopt;
    }
};

TEST_F(Sampled, SeriesAreFoundFromBtf) {
    launch(view, 1, 4);
    set_entry(view, 0, {1, 0, 0}, {4096, 1024});
    std::vector<std::uint64_t> slots(64);
    slots[9] = 3;
    set_entry(view, 1, {1}, slots);
    sampler.sample(view);
    const Series* bytes = find("bandwidth/traffic", "requested_bytes");
    ASSERT_NE(bytes, nullptr);
    EXPECT_EQ(bytes->unit, SeriesUnit::bytes);
    EXPECT_EQ(bytes->kind, SeriesKind::counter);
    EXPECT_EQ(bytes->kernel_id, 1u);
    EXPECT_EQ(bytes->space, "global");
    EXPECT_EQ(bytes->access, "load");
    EXPECT_EQ(bytes->label, "vector_add global load");
    ASSERT_NE(find("bandwidth/traffic", "accesses"), nullptr);
    EXPECT_EQ(find("bandwidth/traffic", "accesses")->unit, SeriesUnit::count);
    const Series* latency = find("latency/load_latency", "load_latency");
    ASSERT_NE(latency, nullptr);
    EXPECT_EQ(latency->kind, SeriesKind::histogram);
    EXPECT_EQ(latency->unit, SeriesUnit::cycles);
    EXPECT_THAT(sampler.series().histograms(1), ElementsAre(latency->id));
    EXPECT_THAT(sampler.series().histograms(2), IsEmpty());
}

TEST_F(Sampled, OnlyWhatChangedStandsInASample) {
    launch(view, 1, 4);
    set_entry(view, 0, {1, 0, 0}, {4096, 1024});
    sampler.sample(view);
    pass(view, 50 * kMs);
    const Sample same = sampler.sample(view);
    EXPECT_THAT(same.points, IsEmpty());
    EXPECT_EQ(same.clocks[kFirstMapClock], view.monotonic_ns) << "but it is known until now";
    pass(view, 50 * kMs);
    set_entry(view, 0, {1, 0, 0}, {8192, 1024});
    const Sample changed = sampler.sample(view);
    EXPECT_EQ(point(changed, find("bandwidth/traffic", "requested_bytes")->id)->value, 8192u);
    EXPECT_FALSE(point(changed, find("bandwidth/traffic", "accesses")->id));
}

TEST_F(Sampled, TheClockOfAMapThatWasNotCopiedStandsStill) {
    launch(view, 1, 4);
    set_entry(view, 0, {1, 0, 0}, {4096, 1024});
    const Sample first = sampler.sample(view);
    pass(view, 50 * kMs);
    view.maps[0].age_ns = std::nullopt;
    const Sample second = sampler.sample(view);
    EXPECT_EQ(second.clocks[kFirstMapClock], first.clocks[kFirstMapClock]);
    EXPECT_EQ(second.clocks[kFirstMapClock + 1], view.monotonic_ns);
}

TEST_F(Sampled, TrafficIsThatOfTheTables) {
    launch(view, 1, 4);
    launch(view, 2, 1);
    set_entry(view, 0, {1, 0, 0}, {4000, 1});  // global load
    set_entry(view, 0, {1, 0, 1}, {300, 1});   // global store
    set_entry(view, 0, {1, 0, 2}, {20, 1});    // atomic: both
    set_entry(view, 0, {1, 1, 0}, {9999, 1});  // shared: neither
    set_entry(view, 0, {2, 0, 0}, {1, 1});
    const Sample sample = sampler.sample(view);
    const auto metrics = kernel_metrics(view);
    EXPECT_EQ(total(sample, SessionField::read_bytes, 1)->value, 4020u);
    EXPECT_EQ(total(sample, SessionField::written_bytes, 1)->value, 320u);
    EXPECT_EQ(total(sample, SessionField::read_bytes)->value, 4021u);
    EXPECT_EQ(total(sample, SessionField::written_bytes)->value, 320u);
    EXPECT_EQ(*metrics.at(1).read_bytes, 4020u);
    EXPECT_EQ(*metrics.at(1).written_bytes, 320u);
    EXPECT_EQ(total(sample, SessionField::written_bytes, 2)->value, 0u) << "seen, and none was made";
    EXPECT_EQ(total(sample, SessionField::traffic_launches)->value, 5u);
}

TEST_F(Sampled, ACounterThatGoesBackBeginsAnEpoch) {
    launch(view, 1, 4);
    set_entry(view, 0, {1, 0, 0}, {4096, 1024});
    const Sample first = sampler.sample(view);
    pass(view, 50 * kMs);
    set_entry(view, 0, {1, 0, 0}, {100, 2000});
    const Sample back = sampler.sample(view);
    const auto id = find("bandwidth/traffic", "requested_bytes")->id;
    EXPECT_NE(point(back, id)->epoch, point(first, id)->epoch);
    EXPECT_NE(point(back, id)->epoch, 0u);
    const auto accesses = find("bandwidth/traffic", "accesses")->id;
    EXPECT_EQ(point(back, accesses)->epoch, point(first, accesses)->epoch);
    EXPECT_NE(total(back, SessionField::read_bytes)->epoch, total(first, SessionField::read_bytes)->epoch);
}

TEST_F(Sampled, ADetachedProbesSeriesAreUnknownAndComeBackAnew) {
    launch(view, 1, 4);
    set_entry(view, 0, {1, 0, 0}, {4096, 1024});
    const Sample first = sampler.sample(view);
    pass(view, 50 * kMs);
    view.catalogue.probes[0].state = ProbeState::detached;
    view.catalogue.copies.push_back({1, {1}});
    view.copies.emplace_back();
    view.catalogue.kernels[0].copy = 3;
    launch(view, 1, 9);
    const Sample without = sampler.sample(view);
    const auto id = find("bandwidth/traffic", "requested_bytes")->id;
    ASSERT_TRUE(point(without, id));
    EXPECT_EQ(point(without, id)->epoch, 0u);
    EXPECT_EQ(total(without, SessionField::read_bytes)->epoch, 0u);
    EXPECT_EQ(total(without, SessionField::read_bytes, 1)->epoch, 0u);
    EXPECT_NE(total(without, SessionField::launches, 1)->epoch, 0u) << "launches are counted all the same";
    pass(view, 50 * kMs);
    EXPECT_THAT(sampler.sample(view).points, IsEmpty()) << "said once";
    view.catalogue.probes[0].state = ProbeState::attached;
    view.catalogue.kernels[0].copy = 1;
    set_entry(view, 0, {1, 0, 0}, {5000, 1100});
    const Sample again = sampler.sample(view);
    EXPECT_GT(point(again, id)->epoch, point(first, id)->epoch);
}

TEST_F(Sampled, AnotherMapOfTheTrafficBeginsAnEpoch) {
    view = session_view({traffic_map("bandwidth"), traffic_map("own")}, {"bandwidth", "own"});
    launch(view, 1, 4);
    set_entry(view, 0, {1, 0, 0}, {4096, 1});
    set_entry(view, 1, {1, 0, 0}, {9000, 1});
    const Sample first = sampler.sample(view);
    EXPECT_EQ(total(first, SessionField::read_bytes)->value, 4096u) << "the first in session order";
    pass(view, 50 * kMs);
    view.catalogue.probes[0].state = ProbeState::detached;
    view.catalogue.copies[0].probes = {1};
    const Sample second = sampler.sample(view);
    EXPECT_EQ(total(second, SessionField::read_bytes)->value, 9000u);
    EXPECT_NE(total(second, SessionField::read_bytes)->epoch, total(first, SessionField::read_bytes)->epoch);
}

TEST_F(Sampled, KeysThatTheCatalogueLacksWaitForIt) {
    launch(view, 1, 4);
    set_entry(view, 0, {3, 0, 0}, {4096, 1024});
    sampler.sample(view);
    EXPECT_EQ(find("bandwidth/traffic", "requested_bytes"), nullptr);
    Kernel kernel = view.catalogue.kernels[0];
    kernel.id = 3;
    kernel.name = "late";
    view.catalogue.kernels.push_back(kernel);
    view.counts.resize(3);
    sampler.sample(view);
    ASSERT_NE(find("bandwidth/traffic", "requested_bytes"), nullptr);
    EXPECT_EQ(find("bandwidth/traffic", "requested_bytes")->label, "late global load");
}

TEST_F(Sampled, AKernelsRatesSayAtLeastWhereLaunchesAreMissed) {
    RateWindow window;
    for (int i = 1; i <= 40; ++i) {
        pass(view, 50 * kMs);
        const auto launches = static_cast<std::uint64_t>(i) * 10;
        launch(view, 1, launches);
        launch(view, 2, launches);
        view.copies[1].launches = launches / 2;
        set_entry(view, 0, {1, 0, 0}, {launches * 100, 1});
        set_entry(view, 0, {2, 0, 0}, {launches * 50, 1});
        window.push(sampler.sample(view), sampler.series());
    }
    const auto whole = window.kernel(1, sampler.series()), half = window.kernel(2, sampler.series());
    EXPECT_NEAR(*whole.launches, 200, 1e-6);
    EXPECT_NEAR(*whole.read, 20'000, 1e-6);
    EXPECT_NEAR(*whole.written, 0, 1e-6);
    EXPECT_FALSE(whole.at_least);
    EXPECT_TRUE(half.at_least);
    EXPECT_TRUE(window.kernel(0, sampler.series()).at_least);
    EXPECT_NEAR(*window.kernel(0, sampler.series()).read, 30'000, 1e-6);
    EXPECT_FALSE(window.kernel(99, sampler.series()).launches) << "no such kernel";
    // From here on no launch of the first is counted: what it reads is unknown, not 0.
    for (int i = 1; i <= 40; ++i) {
        pass(view, 50 * kMs);
        view.counts[0].launches += 10;
        window.push(sampler.sample(view), sampler.series());
    }
    EXPECT_FALSE(window.kernel(1, sampler.series()).read);
    EXPECT_NEAR(*window.kernel(1, sampler.series()).launches, 200, 1e-6);
}

TEST_F(Sampled, APartIsNeverLargerThanTheWhole) {
    RateWindow window;
    for (int i = 1; i <= 60; ++i) {
        pass(view, 50 * kMs);
        if (i > 30) {  // its first launch, of many bytes, comes when the session is 1.5 s old
            launch(view, 1, static_cast<std::uint64_t>(i - 30) * 3);
            set_entry(view, 0, {1, 0, 0}, {static_cast<std::uint64_t>(i - 30) * 300, 1});
        }
        window.push(sampler.sample(view), sampler.series());
        const auto all = window.kernel(0, sampler.series()), only = window.kernel(1, sampler.series());
        if (i <= 30) {
            EXPECT_FALSE(only.launches) << i;
            continue;
        }
        ASSERT_TRUE(only.launches && all.launches && only.read && all.read) << i;
        EXPECT_NEAR(*only.launches, *all.launches, 1e-6) << i;
        EXPECT_NEAR(*only.read, *all.read, 1e-6) << i;
        EXPECT_NEAR(*only.launches, std::min(i - 30, 20) * 3, 1e-6) << "of a whole second, sample " << i;
    }
}

TEST_F(Sampled, WhatWasUnknownBeforeDoesNotBeginAtZero) {
    RateWindow window;
    view.catalogue.probes[0].state = ProbeState::detached;  // when we came: it had counted much before
    view.catalogue.copies.push_back({1, {1}});
    view.copies.emplace_back();
    view.catalogue.kernels[0].copy = 3;
    set_entry(view, 0, {1, 0, 0}, {1'000'000'000, 1000});
    launch(view, 1, 4);
    for (int i = 0; i < 20; ++i) {
        pass(view, 50 * kMs);
        window.push(sampler.sample(view), sampler.series());
    }
    view.catalogue.probes[0].state = ProbeState::attached;
    view.catalogue.kernels[0].copy = 1;
    for (int i = 0; i < 20; ++i) {
        pass(view, 50 * kMs);
        window.push(sampler.sample(view), sampler.series());
        const auto id = find("bandwidth/traffic", "requested_bytes")->id;
        EXPECT_LT(window.rate(id).value_or(0), 1) << i;
        EXPECT_LT(window.kernel(1, sampler.series()).read.value_or(0), 1) << i;
        EXPECT_LT(window.kernel(0, sampler.series()).read.value_or(0), 1) << i;
    }
}

TEST_F(Sampled, PercentilesAreOfTheWindow) {
    RateWindow window;
    std::vector<std::uint64_t> slots(64);
    slots[4] = 1000;  // long ago
    for (int i = 0; i < 60; ++i) {
        pass(view, 50 * kMs);
        slots[10] += 8;
        slots[14] += 2;
        launch(view, 1, static_cast<std::uint64_t>(i + 1));
        set_entry(view, 1, {1}, slots);
        window.push(sampler.sample(view), sampler.series());
    }
    const auto ids = sampler.series().histograms(1);
    const auto now = window.percentiles(ids);
    ASSERT_TRUE(now);
    EXPECT_EQ(now->values, 200u) << "20 samples of 10 values";
    EXPECT_EQ(slot_of(static_cast<std::uint64_t>(now->p50)), 10u);
    EXPECT_EQ(slot_of(static_cast<std::uint64_t>(now->p95)), 14u);
    for (int i = 0; i < 30; ++i) {
        pass(view, 50 * kMs);
        window.push(sampler.sample(view), sampler.series());
    }
    EXPECT_FALSE(window.percentiles(ids)) << "no value came";
}

}  // namespace
}  // namespace egpu::host::testing
