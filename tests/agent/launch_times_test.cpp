// SPDX-License-Identifier: Apache-2.0
// Launches of copies that are timed now and then: which, by what events, and that everything else stays as it is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "fake_host.hpp"

namespace egpu::test {
namespace {

constexpr std::size_t kFirstLaunches = 17;  // of a copy: the first of all is not timed, the others are

HostOptions timing(bool wanted = true) {
    HostOptions options;
    options.copy_lines = "// mock-add\n// mock-time 112000\n";
    options.time_launches = wanted;
    return options;
}

struct Timed {
    Outcome outcome;
    std::string sequence;  // mock_events.cpp: o original, c copy, r event, R event of a per-thread stream
    std::size_t count(char kind) const {
        return static_cast<std::size_t>(std::count(sequence.begin(), sequence.end(), kind));
    }
};

Timed run(const FakeHost& host, const std::string& way, int launches, std::vector<std::string> environment = {}) {
    environment.emplace_back("PRINT_SEQUENCE=1");
    Timed timed;
    timed.outcome = run_application(host.name(), way, launches, environment);
    const std::string& output = timed.outcome.output;
    if (const auto at = output.find("sequence "); at != std::string::npos)
        timed.sequence = output.substr(at + 9, output.find('\n', at) - at - 9);
    return timed;
}

TEST(LaunchTimes, AShortRunHasFigures) {
    for (const char* way : {"plain", "library", "per-thread", "release", "_exit"}) {
        FakeHost host(timing());
        const Timed timed = run(host, way, 10);
        host.stop();
        EXPECT_TRUE(timed.outcome.ok()) << timed.outcome.output;
        const std::string event = std::string(way) == "per-thread" ? "R" : "r";
        EXPECT_EQ(timed.sequence.substr(0, 7), "c" + event + "c" + event + event + "c" + event) << way;
        EXPECT_EQ(host.work().launches_instrumented, 10u);
        EXPECT_EQ(host.work().launches_left_out, 0u) << "nothing alternates";
        EXPECT_EQ(host.counted(), 10u);
        EXPECT_EQ(host.times().single_launches, 9u) << way;
        EXPECT_NEAR(static_cast<double>(host.times().single_ns), 9 * 112'000.0, 9 * 100.0);
        EXPECT_EQ(host.times().pairs, 0u);
    }
}

TEST(LaunchTimes, ALongRunIsTimedNowAndThen) {
    constexpr int kLaunches = 20'000;
    FakeHost host(timing());
    const Timed timed = run(host, "plain", kLaunches);
    host.stop();
    EXPECT_TRUE(timed.outcome.ok()) << timed.outcome.output;
    EXPECT_EQ(timed.count('c'), std::size_t{kLaunches});
    const std::size_t events = timed.count('r');
    EXPECT_EQ(events % 2, 0u);
    EXPECT_GE(events / 2, kFirstLaunches - 1);
    EXPECT_LT(events / 2, std::size_t{kLaunches} / 10) << "one a drain";
    EXPECT_EQ(host.times().single_launches, events / 2);
}

TEST(LaunchTimes, UnaskedForThereAreNoEvents) {
    FakeHost host(timing(false));
    EXPECT_EQ(run(host, "plain", 10).sequence, "cccccccccc");
    host.stop();
    EXPECT_TRUE(host.view().copy_times().empty());
}

TEST(LaunchTimes, TheSimulatedGpuHasNoTime) {
    FakeHost host(timing());
    EXPECT_EQ(run(host, "plain", 10, {"MOCK_DEVICE=egpu simulated GPU"}).sequence, "cccccccccc");
    host.stop();
    EXPECT_EQ(host.times().single_launches, 0u);
}

TEST(LaunchTimes, MeasuringOverheadTakesOnlyPairs) {
    HostOptions options = timing();
    options.measure_overhead = true;
    FakeHost host(options);
    const Timed timed = run(host, "plain", 40);
    host.stop();
    EXPECT_EQ(host.times().single_launches, 0u);
    EXPECT_EQ(host.times().pairs, 19u);
}

}  // namespace
}  // namespace egpu::test
