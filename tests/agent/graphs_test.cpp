// SPDX-License-Identifier: Apache-2.0
// Graphs in whole sessions: the application sees its own handles, copies run, and each kernel is counted when its graph
// is launched. Kernel "work" has a copy, "other" has none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake_host.hpp"
#include "segment/access/shared.hpp"

namespace egpu::test {
namespace {

using testing::HasSubstr;

struct Run {
    const char* way;
    std::uint64_t work;   ///< launches of "work", all of its copy
    std::uint64_t other;  ///< launches of "other"
    std::uint64_t graph_launches;
    std::uint64_t partly = 0;  ///< graph launches that may have run more
};
void PrintTo(const Run& run, std::ostream* out) {
    *out << run.way;
}

std::string counts(std::uint64_t originals, std::uint64_t copies) {
    return "originals " + std::to_string(originals) + " copies " + std::to_string(copies) + "\n";
}

Outcome run_graphs(const std::string& segment, const char* way, const std::vector<std::string>& environment = {}) {
    return Application(segment, way, 0, environment, EGPU_APPLICATION_GRAPHS).wait();
}

class Graphs : public testing::TestWithParam<Run> {};

TEST_P(Graphs, CopiesRunAndAreCountedAtTheLaunch) {
    FakeHost host({});
    const Outcome outcome = run_graphs(host.name(), GetParam().way);
    host.stop();
    EXPECT_TRUE(outcome.ok()) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr(counts(GetParam().other, GetParam().work)));
    const auto& other = host.view().kernels()[FakeHost::kOtherId - 1];
    EXPECT_EQ(host.work().launches, GetParam().work);
    EXPECT_EQ(host.work().launches_instrumented, GetParam().work);
    EXPECT_EQ(host.work().launches_captured, 0u) << "none of its originals ran";
    EXPECT_EQ(host.counted(), GetParam().work);
    EXPECT_EQ(other.launches, GetParam().other);
    EXPECT_EQ(other.launches_captured, GetParam().other);
    EXPECT_EQ(other.launches_instrumented, 0u);
    EXPECT_EQ(host.header().graph_launches, GetParam().graph_launches);
    EXPECT_EQ(host.header().graph_launches_partly, GetParam().partly);
    EXPECT_EQ(host.header().launches_unknown, 0u);
}

INSTANTIATE_TEST_SUITE_P(Agent, Graphs,
                         testing::Values(Run{"captured-module", 8, 4, 4}, Run{"captured-library", 8, 0, 4},
                                         Run{"between-launches", 5, 0, 2}, Run{"added-nodes", 4, 0, 1},
                                         Run{"added-library-nodes", 3, 0, 1}, Run{"set-in-graph", 2, 1, 1},
                                         Run{"set-in-instance", 7, 3, 5}, Run{"updated-instance", 4, 4, 4},
                                         Run{"child-graphs", 12, 8, 5}, Run{"disabled-nodes", 3, 0, 2},
                                         Run{"conditional-nodes", 2, 0, 2, 2}, Run{"launched-by-device", 1, 0, 1, 1},
                                         Run{"many-instances", 500, 500, 1000}, Run{"after-reset", 1, 0, 1},
                                         Run{"getters", 3, 0, 0}),
                         [](const auto& info) {
                             std::string name = info.param.way;
                             std::erase(name, '-');
                             return name;
                         });

// Without a session, and detached: the application sees the same, and originals run.
TEST_P(Graphs, NothingIsToBeSeenWithoutCopies) {
    EXPECT_TRUE(run_graphs("", GetParam().way).ok());
    FakeHost host({});
    segment::store_release(host.header().enabled, 0u);
    const Outcome outcome = run_graphs(host.name(), GetParam().way);
    host.stop();
    EXPECT_TRUE(outcome.ok()) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr(counts(GetParam().other + GetParam().work, 0)));
    EXPECT_EQ(host.work().launches, GetParam().work) << "counted all the same";
    EXPECT_EQ(host.work().launches_instrumented, 0u);
}

// Copies are switched off at the first pause of the application and on at the second.
struct Switch {
    const char* way;
    std::uint64_t work, copies;
    const char* environment = "MOCK=";
    /// Of the copies, those that ran while originals were to run: by egpu_graph_reason.
    std::uint64_t busy = 0, no_source = 0, changed = 0, refused = 0;
    std::uint64_t partly = 0;
};
void PrintTo(const Switch& one, std::ostream* out) {
    *out << one.way << " " << one.environment;
}
class Switches : public testing::TestWithParam<Switch> {};

TEST_P(Switches, InstancesFollowWhereTheyCan) {
    FakeHost host({});
    Application application(host.name(), GetParam().way, 0, {GetParam().environment}, EGPU_APPLICATION_GRAPHS);
    application.wait_for("paused\n");
    segment::store_release(host.header().enabled, 0u);
    application.send("\n");
    if (GetParam().way == std::string("switched")) {
        application.wait_for("paused\npaused\n");
        segment::store_release(host.header().enabled, 1u);
        application.send("\n");
    }
    const Outcome outcome = application.wait();
    host.stop();
    EXPECT_TRUE(outcome.ok()) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr(counts(GetParam().work - GetParam().copies, GetParam().copies)));
    EXPECT_EQ(host.work().launches, GetParam().work);
    EXPECT_EQ(host.work().launches_instrumented, GetParam().copies);
    EXPECT_EQ(host.counted(), GetParam().copies);
    const egpu_copy_counters& copy = host.view().copies()[0];
    EXPECT_EQ(copy.launches, GetParam().copies);
    EXPECT_EQ(copy.launches_former[EGPU_GRAPH_BUSY], GetParam().busy);
    EXPECT_EQ(copy.launches_former[EGPU_GRAPH_NO_SOURCE], GetParam().no_source);
    EXPECT_EQ(copy.launches_former[EGPU_GRAPH_CHANGED], GetParam().changed);
    EXPECT_EQ(copy.launches_former[EGPU_GRAPH_REFUSED], GetParam().refused);
    EXPECT_EQ(host.header().graph_launches_partly, GetParam().partly);
    const std::uint64_t nodes = GetParam().work / (GetParam().way == std::string("switched") ? 6 : 3);
    EXPECT_EQ(copy.graph_nodes + host.work().graph_nodes, nodes) << "those of the instance, whatever they hold";
}

INSTANTIATE_TEST_SUITE_P(
    Agent, Switches,
    testing::Values(
        Switch{"switched", 12, 8},
        // The first launch after each change finds the stream busy; the next, what its event stands behind
        // over.
        Switch{.way = "switched", .work = 12, .copies = 8, .environment = "MOCK_BUSY=1", .busy = 2},
        Switch{.way = "switched", .work = 12, .copies = 12, .environment = "MOCK_BUSY=2", .busy = 4},
        Switch{"switched-without-graph", 6, 2},
        Switch{
            .way = "switched-without-graph", .work = 6, .copies = 6, .environment = "MOCK_NO_CLONE=1", .no_source = 4},
        Switch{.way = "switched-without-graph",
               .work = 6,
               .copies = 6,
               .environment = "MOCK_NO_UPDATE=1",
               .refused = 4,
               .partly = 2},
        Switch{.way = "switched-after-a-change", .work = 6, .copies = 4, .changed = 2},
        Switch{.way = "switched-after-a-change-of-the-graph", .work = 6, .copies = 2},
        Switch{.way = "switched-off-nodes-without-graph", .work = 3, .copies = 3, .changed = 2}),
    [](const auto& info) { return "way" + std::to_string(info.index); });

// Each instance keeps a clone of its graph, and lets go of it.
TEST(GraphSession, WhatInstancesKeepGoesWithThem) {
    FakeHost host({});
    const Outcome outcome = run_graphs(host.name(), "many-instances");
    host.stop();
    EXPECT_TRUE(outcome.ok()) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr("graphs 2\n"));
    EXPECT_EQ(host.view().copies()[0].graph_nodes, 0u);
    EXPECT_EQ(host.work().graph_nodes, 0u);
}

// Whether a stream is captured is asked once a launch, and only while a capture is under way.
TEST(GraphSession, ACaptureIsAskedForWhereThereIsOne) {
    for (const auto& [way, questions] :
         {std::pair("captured-module", 3), {"between-launches", 1}, {"added-nodes", 0}}) {
        FakeHost host({});
        const Outcome outcome = run_graphs(host.name(), way);
        host.stop();
        EXPECT_TRUE(outcome.ok()) << outcome.output;
        EXPECT_THAT(outcome.output, HasSubstr("asked " + std::to_string(questions) + "\n")) << way;
    }
}

// A launch of which the driver doesn't say whether it is captured runs its original, and counts once: with its graph.
TEST(GraphSession, ACaptureThatCantBeAskedForIsCountedOnce) {
    FakeHost host({});
    const Outcome outcome = run_graphs(host.name(), "between-launches", {"MOCK_CAPTURE_ERROR=1"});
    host.stop();
    EXPECT_TRUE(outcome.ok()) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr(counts(0, 5))) << "the graph gets its copy when it is launched";
    EXPECT_EQ(host.work().launches, 5u);
    EXPECT_EQ(host.work().launches_instrumented, 5u) << "where no capture is under way nobody is asked";
    EXPECT_EQ(host.header().launches_unasked, 1u);
    EXPECT_EQ(host.work().copy_reason, static_cast<std::uint32_t>(EGPU_COPY_CAPTURE_UNKNOWN));
}

TEST(GraphSession, ACaptureIsNoLaunch) {
    FakeHost host({});
    const Outcome outcome = run_graphs(host.name(), "only-captured");
    host.stop();
    EXPECT_TRUE(outcome.ok()) << outcome.output;
    EXPECT_EQ(host.work().launches, 0u);
    EXPECT_EQ(host.header().graph_launches, 0u);
}

TEST(GraphSession, ACopyThatTheDriverRefusesInAGraphLeavesTheOriginal) {
    FakeHost host({});
    const Outcome outcome = run_graphs(host.name(), "captured-library", {"MOCK_REFUSE_COPIES=1"});
    host.stop();
    EXPECT_TRUE(outcome.ok()) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr(counts(8, 0)));
    EXPECT_EQ(host.work().launches, 8u);
    EXPECT_EQ(host.work().launches_captured, 8u);
    EXPECT_EQ(host.work().copy_reason, static_cast<std::uint32_t>(EGPU_COPY_LOAD_FAILED));
}

}  // namespace
}  // namespace egpu::test
