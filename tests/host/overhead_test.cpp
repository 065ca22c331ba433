// SPDX-License-Identifier: Apache-2.0
// The arithmetic of overhead: mean ratio, its interval, and when there is none.
#include "host/findings/overhead.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "host/view/live_view.hpp"
#include "segment/access/copy_times.hpp"
#include "segment/create/create.hpp"

namespace egpu::host {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

LaunchTimes sums(const std::vector<std::pair<double, double>>& pairs) {
    LaunchTimes times;
    for (const auto& [original, instrumented] : pairs) {
        const double ratio = std::log(instrumented / original);
        ++times.pairs;
        times.original_ns += static_cast<std::uint64_t>(original);
        times.instrumented_ns += static_cast<std::uint64_t>(instrumented);
        times.log_ratio += ratio;
        times.log_ratio_squares += ratio * ratio;
    }
    return times;
}

TEST(MeasuredOverhead, OfPairsWorkedOutByHand) {
    // Logarithms to base 2 of the ratios: 1, 2, 3, 4, 5. Mean 3, standard deviation sqrt(2.5), t(4) = 2.776445.
    const auto measured = measured_overhead(sums({{100, 200}, {100, 400}, {100, 800}, {100, 1600}, {100, 3200}}));
    ASSERT_TRUE(measured);
    EXPECT_NEAR(measured->ratio, 8, 1e-9);
    const double reach = 2.776445 * std::sqrt(2.5 / 5);
    EXPECT_NEAR(std::log2(measured->high), 3 + reach, 0.003 * reach) << "Student's t, not the normal 1.96";
    EXPECT_NEAR(std::log2(measured->low), 3 - reach, 0.003 * reach);
    EXPECT_DOUBLE_EQ(measured->original_ns, 100);
    EXPECT_DOUBLE_EQ(measured->instrumented_ns, 1240);
}

TEST(MeasuredOverhead, IntervalsOfOtherNumbersOfPairs) {
    // Student's t, 97.5 %, from tables.
    const std::pair<int, double> quantiles[] = {{5, 2.776}, {6, 2.571}, {11, 2.228}, {31, 2.042}, {121, 1.980}};
    for (const auto& [n, quantile] : quantiles) {
        LaunchTimes times;
        times.pairs = static_cast<std::uint64_t>(n);
        times.log_ratio_squares = n - 1;  // variance 1
        const auto measured = measured_overhead(times);
        ASSERT_TRUE(measured);
        EXPECT_NEAR(std::log(measured->high), quantile / std::sqrt(n), 0.003 * quantile) << n;
    }
}

TEST(MeasuredOverhead, CoversTheTruthInNineteenOfTwentyRuns) {
    std::mt19937 random(20261129);
    std::normal_distribution<double> noise(0, 0.2);
    int covered = 0;
    constexpr int kRuns = 4000;
    for (int run = 0; run < kRuns; ++run) {
        std::vector<std::pair<double, double>> pairs;
        for (int i = 0; i < 8; ++i)
            pairs.emplace_back(1e6, 1.3e6 * std::exp(noise(random)));
        const auto measured = measured_overhead(sums(pairs));
        covered += measured->low <= 1.3 && 1.3 <= measured->high ? 1 : 0;
    }
    EXPECT_NEAR(covered / static_cast<double>(kRuns), 0.95, 0.012);
}

TEST(MeasuredOverhead, FewPairsAndDamagedSumsAreNone) {
    EXPECT_FALSE(measured_overhead(sums({{1, 2}, {1, 2}, {1, 2}, {1, 2}})));
    EXPECT_TRUE(measured_overhead(sums({{1, 2}, {1, 2}, {1, 2}, {1, 2}, {1, 2}})));
    for (const double bad :
         {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), 1e300}) {
        LaunchTimes times = sums({{1, 2}, {1, 2}, {1, 2}, {1, 2}, {1, 2}});
        times.log_ratio = bad;
        EXPECT_FALSE(measured_overhead(times)) << bad;
    }
}

TEST(MeasuredOverhead, ShowsAsManyDigitsAsTheIntervalHas) {
    const auto text = [](double ratio, double half) {
        MeasuredOverhead measured;
        measured.ratio = ratio;
        measured.low = ratio - half;
        measured.high = ratio + half;
        return measured.text();
    };
    EXPECT_EQ(text(1.1234, 0.0123), "1.12x \u00b1 0.01");
    EXPECT_EQ(text(12.5, 3.217), "12.50x \u00b1 3.22");
    EXPECT_EQ(text(1.0034, 0.0021), "1.003x \u00b1 0.002");
    EXPECT_EQ(text(1.00012, 0.00031), "1.0001x \u00b1 0.0003");
    EXPECT_EQ(text(1.25, 0), "1.2500x \u00b1 0.0001") << "no interval is 0";
}

SessionView view_of(std::vector<LaunchTimes> times) {
    SessionView view;
    view.catalogue.measure_overhead = true;
    view.device_name = "a GPU";
    for (std::uint32_t id = 1; id <= 2; ++id) {
        Kernel kernel;
        kernel.id = id;
        kernel.name = id == 1 ? "vector_add" : "scan";
        view.catalogue.kernels.push_back(kernel);
    }
    view.counts.resize(2);
    view.counts[0].instrumented = 100;
    view.catalogue.probes.resize(2);
    view.catalogue.probes[0].probe = "bandwidth";
    view.catalogue.probes[1].probe = "latency";
    view.catalogue.copies = {{1, {0}}, {2, {0}}, {1, {0, 1}}, {1, {1}}};
    view.copy_times = std::move(times);
    return view;
}

TEST(Overheads, AreOfTheLastCopyThatWasTimed) {
    const LaunchTimes ten = {10, 1000, 1200, 10 * std::log(1.2), 10 * std::log(1.2) * std::log(1.2)};
    const LaunchTimes twenty = {20, 4000, 8000, 20 * std::log(2), 20 * std::log(2) * std::log(2)};
    const auto found = overheads(view_of({ten, {}, twenty, {}}));
    ASSERT_EQ(found.size(), 1u) << "the other kernel ran no copy";
    EXPECT_EQ(found[0].kernel_id, 1u);
    EXPECT_EQ(found[0].pairs, 20u) << "two copies' times are not mixed";
    EXPECT_THAT(found[0].probes, ElementsAre("bandwidth", "latency"));
    ASSERT_TRUE(found[0].measured);
    EXPECT_NEAR(found[0].measured->ratio, 2, 1e-9);
    EXPECT_EQ(found[0].text(), "2.0000x \u00b1 0.0001 (20 pairs)");
}

TEST(Overheads, WithoutAFigureThereIsAReason) {
    EXPECT_EQ(overheads(view_of({{1, 10, 11, 0.1, 0.01}, {}, {}, {}}))[0].text(), "n/a: only 1 pair");
    EXPECT_EQ(overheads(view_of({{4, 40, 44, 0.4, 0.04}, {}, {}, {}}))[0].text(), "n/a: only 4 pairs");
    EXPECT_EQ(overheads(view_of({{}, {}, {}, {}}))[0].text(), "n/a: no two launches of one shape were timed");
    EXPECT_EQ(overheads(view_of({}))[0].text(), "n/a: no two launches of one shape were timed");
    SessionView simulated = view_of({{9, 90, 99, 0.9, 0.09}, {}, {}, {}});
    simulated.simulated = true;
    EXPECT_EQ(overheads(simulated)[0].text(), "n/a: the simulated GPU knows no time");
    EXPECT_FALSE(overheads(simulated)[0].measured) << "whatever the segment says";
    SessionView unasked = view_of({{9, 90, 99, 0.9, 0.09}, {}, {}, {}});
    unasked.catalogue.measure_overhead = false;
    EXPECT_THAT(overheads(unasked), IsEmpty());
}

TEST(Overheads, ASegmentOfNoiseIsDamagedAndItsCatalogueStays) {
    segment::SegmentRequest request;
    request.kernel_capacity = 4;
    request.copy_capacity = 4;
    auto owned = segment::OwnedSegment::create(request);
    ASSERT_TRUE(owned);
    SessionView view;
    view.catalogue = view_of({}).catalogue;
    const std::size_t kernels = view.catalogue.kernels.size();
    owned->view().kernels()[0].launches = std::uint64_t{1} << 60;
    const auto filled = fill_view(owned->view(), view);
    ASSERT_FALSE(filled);
    EXPECT_EQ(filled.error().code, "EGPU-M013");
    EXPECT_EQ(view.catalogue.kernels.size(), kernels) << "whoever gave it has it back";
}

TEST(Overheads, ComeOutOfASegment) {
    segment::SegmentRequest request;
    request.kernel_capacity = 4;
    request.copy_capacity = 4;
    request.measure_overhead = true;
    auto owned = segment::OwnedSegment::create(request);
    ASSERT_TRUE(owned);
    const segment::View& memory = owned->view();
    memory.kernels()[1].launches = 20;
    memory.kernels()[1].launches_instrumented = 12;
    memory.kernels()[1].launches_left_out = 8;
    for (int i = 0; i < 7; ++i)
        segment::add_pair(memory.copy_times()[2], {1000, 1500, std::log(1.5)});
    memory.header().waits = 2;
    memory.header().wait_ns_total = 30'000'000;
    memory.header().wait_ns_longest = 20'000'000;
    memory.header().gpu_memory_most_kib = 12;
    Catalogue catalogue = view_of({}).catalogue;
    const auto again = catalogue_from_json(to_json(catalogue));
    ASSERT_TRUE(again);
    EXPECT_TRUE(again->measure_overhead) << "readers of the session know that it was asked for";
    catalogue.copies[2].kernel_id = 2;
    const auto view = view_session(memory, catalogue);
    ASSERT_TRUE(view);
    const auto found = overheads(*view);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].kernel_id, 2u);
    EXPECT_EQ(found[0].pairs, 7u);
    ASSERT_TRUE(found[0].measured);
    EXPECT_NEAR(found[0].measured->ratio, 1.5, 1e-9);
    EXPECT_DOUBLE_EQ(found[0].measured->original_ns, 1000);
    EXPECT_EQ(view->left_out_launches(), 8u);
    EXPECT_EQ(view->waits, 2u);
    EXPECT_EQ(view->waited_ns, 30'000'000u);
    EXPECT_EQ(view->longest_wait_ns, 20'000'000u);
    EXPECT_EQ(view->most_gpu_memory_bytes, 12u << 10);
}

}  // namespace
}  // namespace egpu::host
