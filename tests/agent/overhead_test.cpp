// SPDX-License-Identifier: Apache-2.0
// Sessions that measure overhead: launches alternate and are timed by events, over a mock driver whose launches take
// the time that their text says, and holds of the application's threads are added up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "fake_host.hpp"

namespace egpu::test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr double kRatio = 1.12;  // of the mock's times below

HostOptions measuring(std::string more_lines = "") {
    HostOptions options;
    options.copy_lines = "// mock-add\n// mock-time 112000\n" + std::move(more_lines);
    options.measure_overhead = true;
    return options;
}

struct Measured {
    Outcome outcome;
    std::string sequence;  // mock_events.cpp
    std::uint64_t originals() const { return launches('o'); }
    std::uint64_t copies() const { return launches('c'); }
    std::uint64_t launches(char kind) const {
        return static_cast<std::uint64_t>(std::count(sequence.begin(), sequence.end(), kind));
    }
};

Measured measure(const FakeHost& host, const std::string& way, int launches,
                 std::vector<std::string> environment = {}) {
    environment.emplace_back("PRINT_SEQUENCE=1");
    Measured measured;
    measured.outcome = run_application(host.name(), way, launches, environment);
    const std::string& output = measured.outcome.output;
    if (const auto at = output.find("sequence "); at != std::string::npos)
        measured.sequence = output.substr(at + 9, output.find('\n', at) - at - 9);
    return measured;
}

// Whatever is timed, each launch is counted once and as what it ran.
void expect_all_counted(const FakeHost& host, const Measured& measured) {
    EXPECT_TRUE(measured.outcome.ok()) << measured.outcome.output;
    EXPECT_EQ(host.work().launches_instrumented, measured.copies());
    EXPECT_EQ(host.work().launches_left_out, measured.originals());
    EXPECT_EQ(host.work().launches, measured.originals() + measured.copies());
    EXPECT_EQ(host.counted(), measured.copies()) << "what the probes counted is of the copies";
}

// The events' resolution is that of a float in ms.
void expect_times(const segment::CopyTimes& times, std::uint64_t pairs, double original_ns) {
    const auto n = static_cast<double>(pairs);
    EXPECT_EQ(times.pairs, pairs);
    EXPECT_NEAR(static_cast<double>(times.original_ns), n * original_ns, n * 100);
    EXPECT_NEAR(static_cast<double>(times.instrumented_ns), n * original_ns * kRatio, n * 100);
    EXPECT_NEAR(times.log_ratio, n * std::log(kRatio), n * 1e-3);
    EXPECT_NEAR(times.log_ratio_squares, n * std::log(kRatio) * std::log(kRatio), n * 1e-3);
}

TEST(Overhead, LaunchesGoInPairsAndAreTimed) {
    for (const char* way : {"plain", "library", "per-thread", "large-blocks", "release", "_exit"}) {
        FakeHost host(measuring());
        const Measured measured = measure(host, way, 40);
        host.stop();
        expect_all_counted(host, measured);
        expect_times(host.times(), 19, 100'000);
        // Untimed: the first pair, in which both are loaded.
        const char event = std::string(way) == "per-thread" ? 'R' : 'r';
        EXPECT_EQ(measured.sequence.size(), 2u + 38 * 3) << measured.sequence;
        EXPECT_EQ(measured.launches(event), 2u * 38) << "each launch between two events of its stream's kind";
        std::string order;
        for (const char one : measured.sequence)
            if (one == 'o' || one == 'c')
                order += one;
        for (std::size_t pair = 0; pair < 20; ++pair)
            EXPECT_NE(order[2 * pair], order[2 * pair + 1]) << order;
        EXPECT_THAT(order, HasSubstr("ococ"));
        EXPECT_THAT(order, HasSubstr("cooc")) << "the order changes from pair to pair";
    }
}

TEST(Overhead, AKernelThatIsLaunchedOnceRunsItsCopy) {
    FakeHost host(measuring());
    EXPECT_EQ(measure(host, "plain", 1).sequence, "c");
    host.stop();
    EXPECT_EQ(host.work().launches_instrumented, 1u);
}

TEST(Overhead, WithoutTheOptionNothingAlternatesAndThereAreNoEvents) {
    FakeHost host({});
    const Measured measured = measure(host, "plain", 10);
    host.stop();
    EXPECT_EQ(measured.sequence, "cccccccccc");
    EXPECT_TRUE(host.view().copy_times().empty());
}

TEST(Overhead, TheSimulatedGpuHasNoTimeSoNothingAlternates) {
    FakeHost host(measuring());
    const Measured measured = measure(host, "plain", 10, {"MOCK_DEVICE=egpu simulated GPU"});
    host.stop();
    EXPECT_EQ(measured.sequence, "cccccccccc");
    EXPECT_EQ(host.times().pairs, 0u);
}

TEST(Overhead, PairsAreOfOneShape) {
    FakeHost host(measuring());
    const Measured measured = measure(host, "grids", 120);
    host.stop();
    expect_all_counted(host, measured);
    // Grids of 1, 2, 3, 4 blocks in turn: two rounds until the first pair is over, then 14 pairs of each.
    expect_times(host.times(), 56, 250'000);
}

TEST(Overhead, MoreShapesThanPairsCanBeOpenFindTheirsAgain) {
    FakeHost host(measuring());
    const Measured measured = measure(host, "many-grids", 1600);
    host.stop();
    expect_all_counted(host, measured);
    EXPECT_GT(host.times().pairs, 250u) << "16 shapes in turn; 12 pairs can be open";
}

TEST(Overhead, ShapesThatNeverComeAgainTakeNoTimersAway) {
    FakeHost host(measuring());
    const Measured measured = measure(host, "ever-other-grids", 16'000);
    host.stop();
    expect_all_counted(host, measured);
    EXPECT_EQ(host.times().pairs, 0u);
    EXPECT_LT(measured.originals(), 1000u) << "few launches run the original for nothing";
    EXPECT_THAT(measured.sequence.substr(measured.sequence.size() - 1000), HasSubstr("o")) << "timers come back";
}

TEST(Overhead, ClustersAndCooperativeLaunchesAreTimedToo) {
    FakeHost host(measuring());
    const Measured measured = measure(host, "shapes", 20);
    host.stop();
    expect_all_counted(host, measured);
    expect_times(host.times(), 36, 100'000);
}

TEST(Overhead, WhatIsCopiedForACopysConstantsIsPartOfItsTime) {
    HostOptions options = measuring();
    options.bank_lines = "// mock-add\n// mock-bank\n// mock-time 112000\n";
    FakeHost host(options);
    const Measured measured = measure(host, "constants-plain", 40);
    host.stop();
    EXPECT_TRUE(measured.outcome.ok()) << measured.outcome.output;
    EXPECT_EQ(host.work().launches_instrumented, measured.copies());
    EXPECT_GT(host.times().pairs, 5u);
    EXPECT_THAT(measured.sequence, HasSubstr("rdcr"));
    EXPECT_THAT(measured.sequence, Not(HasSubstr("drc")));
}

TEST(Overhead, NoEventStandsBetweenKernelsThatMayOverlap) {
    FakeHost host(measuring());
    const Measured measured = measure(host, "overlapping", 10);
    host.stop();
    EXPECT_EQ(measured.sequence, "cccccccccc");
    expect_all_counted(host, measured);
}

TEST(Overhead, CapturedLaunchesKeepTheCopyAndHaveNoEvents) {
    FakeHost host(measuring());
    const Measured measured = measure(host, "captured", 10);
    host.stop();
    EXPECT_TRUE(measured.outcome.ok()) << measured.outcome.output;
    EXPECT_EQ(measured.sequence, "");
}

TEST(Overhead, WithoutFreeTimersLaunchesRunTheCopyUntimed) {
    FakeHost host(measuring());
    const Measured measured = measure(host, "plain", 2000, {"MOCK_EVENTS_PENDING=1"});
    host.stop();
    expect_all_counted(host, measured);
    expect_times(host.times(), 256, 100'000);
    EXPECT_EQ(measured.originals(), 257u) << "no launch runs the original for nothing";
}

TEST(Overhead, ADriverThatGivesFewEventsOrNone) {
    for (const auto& [events, pairs] : {std::pair{"MOCK_NO_EVENTS=9", 2u}, {"MOCK_NO_EVENTS=3", 0u}}) {
        FakeHost host(measuring());
        const Measured measured = measure(host, "plain", 100, {"MOCK_EVENTS_PENDING=1", events});
        host.stop();
        expect_all_counted(host, measured);
        EXPECT_EQ(host.times().pairs, pairs) << "four events a pair";
        EXPECT_EQ(measured.originals(), pairs == 0 ? 0 : pairs + 1) << "what can't be timed doesn't alternate";
    }
}

TEST(Overhead, WorkThatAlternatesItselfChangesNothing) {
    // Every second launch takes three times as long. In step with the order the ratio would be off by 3.
    FakeHost host(measuring());
    const Measured measured = measure(host, "one-grid", 4000, {"MOCK_HEAVY=1"});
    host.stop();
    expect_all_counted(host, measured);
    const segment::CopyTimes times = host.times();
    EXPECT_GT(times.pairs, 200u);
    const double mean = times.log_ratio / static_cast<double>(times.pairs);
    EXPECT_NEAR(mean, std::log(kRatio), 5 * std::log(3) / std::sqrt(static_cast<double>(times.pairs)));
}

TEST(Overhead, TimesSurviveTheirContext) {
    FakeHost host(measuring());
    const Measured measured = measure(host, "contexts-end", 10);
    host.stop();
    expect_all_counted(host, measured);
    EXPECT_EQ(host.times().pairs, 17u) << "of several contexts, one after the other";
    EXPECT_NEAR(host.times().log_ratio, static_cast<double>(host.times().pairs) * std::log(kRatio), 1e-2);
}

TEST(Overhead, ThreadsPairTheirLaunches) {
    FakeHost host(measuring());
    const Measured measured = measure(host, "threads", 2000);
    host.stop();
    expect_all_counted(host, measured);
    EXPECT_GT(host.times().pairs, 20u);
    EXPECT_LE(host.times().pairs, measured.originals());
}

TEST(Overhead, AFirstLaunchWithoutASecondIsGivenUp) {
    FakeHost host(measuring());
    Application application(host.name(), "pairs-apart", 0, {"PRINT_SEQUENCE=1"});
    const Outcome outcome = application.wait();
    host.stop();
    EXPECT_TRUE(outcome.ok()) << outcome.output;
    // 3 launches, a pause longer than a pair may take, 2 launches: these are a pair of their own.
    EXPECT_EQ(host.times().pairs, 1u);
    EXPECT_EQ(host.work().launches, 5u);
}

TEST(Overhead, ACopyThatCantBeLaunchedIsNoPair) {
    FakeHost host(measuring("// mock-launch-error 701\n"));
    const Measured measured = measure(host, "plain", 10);
    host.stop();
    EXPECT_EQ(measured.originals(), 10u);
    EXPECT_EQ(host.work().launches, 10u);
    EXPECT_EQ(host.work().launches_instrumented, 0u);
    EXPECT_EQ(host.times().pairs, 0u);
}

TEST(Memory, TheMostThatThereWasIsKept) {
    FakeHost host({});
    const Outcome outcome = run_application(host.name(), "release", 10);
    host.stop();
    EXPECT_TRUE(outcome.ok()) << outcome.output;
    EXPECT_EQ(host.header().gpu_memory_kib, 0u) << "gone with the context";
    EXPECT_EQ(host.header().gpu_memory_most_kib, 2u) << "two shards of a small map";
}

// ---- holds ------------------------------------------------------------------------------------------------------

TEST(Held, LoadsThatWaitForTheirCopiesAreAddedUp) {
    HostOptions options;
    options.late_ms = 60;
    FakeHost host(options);
    const Outcome outcome = run_application(host.name(), "twice", 10);
    host.stop();
    EXPECT_TRUE(outcome.ok()) << outcome.output;
    EXPECT_GE(host.header().waits, 2u);
    EXPECT_GE(host.header().wait_ns_longest, 60'000'000u);
    EXPECT_LE(host.header().wait_ns_longest, host.header().wait_ns_total - 60'000'000u) << "two of them at least";
}

TEST(Held, AContextThatWaitsForALibrarysCopiesCountsAsWell) {
    HostOptions options;
    options.late_ms = 60;
    FakeHost host(options);
    const Outcome outcome = run_application(host.name(), "library-elsewhere", 10);
    host.stop();
    EXPECT_TRUE(outcome.ok()) << outcome.output;
    EXPECT_GE(host.header().wait_ns_total, 3u * 60'000'000u) << "module, library, and the second context's question";
}

TEST(Held, ALaunchThatWaitsCountsAsWell) {
    HostOptions options;
    options.late_ms = 100;
    FakeHost host(options);
    const Outcome outcome = run_application(host.name(), "launch-waits", 10);
    host.stop();
    EXPECT_TRUE(outcome.ok()) << outcome.output;
    EXPECT_EQ(host.work().launches_instrumented, 10u);
    EXPECT_GE(host.header().waits, 2u) << "the load, and the first launch in the other context";
    EXPECT_GE(host.header().wait_ns_total, 200'000'000u);
}

TEST(Held, WhatIsQuickIsNotCounted) {
    FakeHost host({});
    const Outcome outcome = run_application(host.name(), "many-reloads", 400);
    host.stop();
    EXPECT_TRUE(outcome.ok()) << outcome.output;
    EXPECT_LT(host.header().waits, 400u) << "400 loads and unloads: those that took under 1 ms are none";
    EXPECT_EQ(host.header().waits == 0, host.header().wait_ns_total == 0);
}

}  // namespace
}  // namespace egpu::test
