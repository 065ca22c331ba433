// SPDX-License-Identifier: Apache-2.0
// Whole sessions with several contexts and devices, modules that come and go, copies that come late, and launches whose
// residency depends on more than the block.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake_host.hpp"

namespace egpu::test {
namespace {

using testing::HasSubstr;

std::string counts(int originals, int copies) {
    return "originals " + std::to_string(originals) + " copies " + std::to_string(copies) + "\n";
}

int number_after(const std::string& text, const std::string& word) {
    const std::size_t at = text.find(word);
    return at == std::string::npos ? -1 : std::atoi(text.c_str() + at + word.size());
}

HostOptions with_copy(const char* lines) {
    HostOptions options;
    options.copy_lines = lines;
    return options;
}

std::uint32_t reason_of(const FakeHost& host) {
    return host.work().copy_reason;
}

// ---- several contexts and devices -------------------------------------------------------------------------------

struct Several {
    const char* way;
    int launches;  ///< of 10 asked for
};
void PrintTo(const Several& value, std::ostream* out) {
    *out << value.way;
}
class Contexts : public testing::TestWithParam<Several> {};

// The mock refuses a function of another context, and counts a write into memory that went with its context.
TEST_P(Contexts, EveryLaunchRunsTheCopyOfItsContextAndTheSumIsExact) {
    FakeHost host({});
    const Outcome outcome = run_application(host.name(), GetParam().way);
    host.stop();
    EXPECT_TRUE(outcome.ok()) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr(counts(0, GetParam().launches)));
    EXPECT_EQ(host.work().launches, static_cast<std::uint64_t>(GetParam().launches));
    EXPECT_EQ(host.work().launches_instrumented, static_cast<std::uint64_t>(GetParam().launches));
    EXPECT_EQ(host.counted(), static_cast<std::uint64_t>(GetParam().launches));
    EXPECT_EQ(host.header().state, static_cast<std::uint32_t>(EGPU_SESSION_DRAINED));
    EXPECT_EQ(host.header().agent_error, 0u) << host.header().agent_error_text;
    for (const auto& result : host.results)
        EXPECT_EQ(result.reason, static_cast<std::uint32_t>(EGPU_COPY_LOADED));
}

INSTANTIATE_TEST_SUITE_P(Agent, Contexts,
                         testing::Values(Several{"other-context", 20}, Several{"library-elsewhere", 30},
                                         Several{"two-contexts", 20}, Several{"two-devices", 20},
                                         Several{"library-in-two", 40}, Several{"library-on-two", 40},
                                         Several{"contexts-end", 40}, Several{"reset-and-go-on", 30}));

// A map that programs do not only add to is one: it can't be in two memories.
TEST(Contexts, AMapThatDoesNotAddUpStaysInOne) {
    for (const char* way : {"two-contexts", "two-devices"}) {
        HostOptions options;
        options.adds_up = false;
        FakeHost host(options);
        const Outcome outcome = run_application(host.name(), way);
        host.stop();
        EXPECT_THAT(outcome.output, HasSubstr(counts(10, 10)));
        EXPECT_EQ(host.work().launches_instrumented, 10u);
        EXPECT_EQ(host.counted(), 10u);
        EXPECT_EQ(reason_of(host), static_cast<std::uint32_t>(EGPU_COPY_ONE_PLACE));
        EXPECT_EQ(host.work().copy_state, 1u) << "the first one has its copy";
    }
}

TEST(Contexts, AMapThatDoesNotAddUpGoesOnInTheNext) {
    HostOptions options;
    options.adds_up = false;
    FakeHost host(options);
    const Outcome outcome = run_application(host.name(), "reset-and-go-on");
    host.stop();
    EXPECT_TRUE(outcome.ok()) << outcome.output;
    EXPECT_EQ(host.work().launches_instrumented, 30u);
    EXPECT_EQ(host.counted(), 30u) << "each starts with what the one before held";
}

// ---- modules that come and go -----------------------------------------------------------------------------------

// A context whose maps could not be copied before it ended: whatever comes later, the totals are not whole.
TEST(Contexts, WhatAnEndedContextHeldIsMissed) {
    FakeHost host({});
    const Outcome outcome = run_application(host.name(), "reset-and-go-on", 10, {"MOCK_COPY_ERROR=2"});
    host.stop();
    EXPECT_TRUE(outcome.ok()) << outcome.output;
    EXPECT_EQ(host.header().end_reason, static_cast<std::uint32_t>(EGPU_END_NONE));
}

TEST(Reloads, AThousandTakeNoMemoryAndOneCopy) {
    FakeHost host({});
    const Outcome outcome = run_application(host.name(), "many-reloads", 1000);
    host.stop();
    EXPECT_TRUE(outcome.ok()) << outcome.output;
    EXPECT_EQ(host.work().launches_instrumented, 1000u);
    EXPECT_EQ(host.counted(), 1000u);
    EXPECT_EQ(host.header().copies_loaded, 1u) << "the copy module is used again";
    EXPECT_EQ(host.header().handles_dropped, 0u);
    EXPECT_LT(number_after(outcome.output, "grown "), 256) << "KiB over 900 reloads";
}

// The copy of the old instance would count in variables that are gone (the mock frees them with the module).
TEST(Reloads, TheCopyGetsTheAddressesOfTheNewInstance) {
    HostOptions options;
    options.symbols = {"app_counter"};
    FakeHost host(options);
    const Outcome outcome = run_application(host.name(), "many-reloads", 50);
    host.stop();
    EXPECT_TRUE(outcome.ok()) << outcome.output;
    EXPECT_EQ(host.counted(), 50u);
    EXPECT_EQ(host.header().copies_loaded, 1u);
}

TEST(Reloads, UnderLoadFromFourThreads) {
    FakeHost host({});
    const Outcome outcome = run_application(host.name(), "reload-under-load", 200);
    host.stop();
    EXPECT_TRUE(outcome.ok()) << outcome.output << outcome.signal;
    EXPECT_EQ(host.work().launches, 800u);
    EXPECT_EQ(host.work().launches_instrumented, 800u);
    EXPECT_EQ(host.header().launches_unknown, 0u);
    EXPECT_LE(host.header().copies_loaded, 3u) << "at most as many as were there at once";
}

// ---- residency, attributes --------------------------------------------------------------------------------------

TEST(Shapes, DynamicSharedMemorySetLaterReachesTheCopy) {
    for (const char* way : {"shared-memory", "library-shared-memory"}) {
        FakeHost host({});
        const Outcome outcome = run_application(host.name(), way);
        host.stop();
        EXPECT_TRUE(outcome.ok()) << outcome.output;
        EXPECT_THAT(outcome.output, HasSubstr(counts(0, 11))) << way;
    }
}

TEST(Shapes, ARegisterMoreLosesWhereRegistersDecideAndNowhereElse) {
    // 128 threads: 14 blocks of 36 registers, 13 of 37; with 40 KiB of shared memory 5 of both.
    FakeHost host(with_copy("// mock-add\n// mock-registers 37\n"));
    const Outcome outcome = run_application(host.name(), "shapes");
    host.stop();
    EXPECT_TRUE(outcome.ok()) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr(counts(30, 10)));
    EXPECT_EQ(number_after(outcome.output, "queries "), 2 + 2 + 2) << "once a shape, for copy and original; not again";
    EXPECT_EQ(reason_of(host), static_cast<std::uint32_t>(EGPU_COPY_FEWER_BLOCKS));
}

TEST(Shapes, ClustersAndCooperativeLaunchesAreAskedForOnce) {
    FakeHost host({});
    const Outcome outcome = run_application(host.name(), "shapes");
    host.stop();
    EXPECT_THAT(outcome.output, HasSubstr(counts(0, 40)));
    EXPECT_EQ(number_after(outcome.output, "queries "), 4 + 2) << "blocks and clusters; blocks";
}

// ---- copies that come late --------------------------------------------------------------------------------------

HostOptions late() {
    HostOptions options;
    options.wait_ms = 100;
    options.late_ms = 400;
    return options;
}

class Late : public testing::TestWithParam<const char*> {};
TEST_P(Late, TheyAreLoadedOnceTheContextIsIdle) {
    FakeHost host(late());
    const Outcome outcome = run_application(host.name(), GetParam());
    host.stop();
    EXPECT_TRUE(outcome.ok()) << outcome.output;
    EXPECT_EQ(host.header().images_unanswered, 1u);
    EXPECT_GT(host.header().launches_unknown, 0u) << "before the kernels were known";
    EXPECT_EQ(host.work().copy_state, 1u);
    EXPECT_GE(host.work().launches_instrumented, 10u);
    EXPECT_EQ(host.counted(), host.work().launches_instrumented);
}
INSTANTIATE_TEST_SUITE_P(Agent, Late, testing::Values("late-context-sync", "late-stream"));

TEST(NamesBeforeCopies, LaunchesAreCountedUnderTheirKernelsWithTheReason) {
    HostOptions options = late();
    options.names_at_once = true;
    FakeHost host(options);
    const Outcome outcome = run_application(host.name(), "late-context-sync");
    host.stop();
    EXPECT_TRUE(outcome.ok()) << outcome.output;
    EXPECT_EQ(host.header().images_unanswered, 1u) << "copies are missing";
    EXPECT_EQ(host.header().launches_unknown, 0u);
    EXPECT_GT(host.work().launches, host.work().launches_instrumented);
    EXPECT_GE(host.work().launches_instrumented, 10u) << "the copies came in later";
    EXPECT_EQ(host.counted(), host.work().launches_instrumented);
}

TEST(NamesBeforeCopies, CopiesThatNeverComeAreLate) {
    HostOptions options = late();
    options.names_at_once = true;
    options.late_ms = 5'000;
    FakeHost host(options);
    const Outcome outcome = run_application(host.name(), "plain", 5);
    EXPECT_TRUE(outcome.ok()) << outcome.output;
    EXPECT_EQ(host.work().launches, 5u);
    EXPECT_EQ(host.work().launches_instrumented, 0u);
    EXPECT_EQ(reason_of(host), static_cast<std::uint32_t>(EGPU_COPY_LATE));
    host.stop();
}

class TooBusy : public testing::TestWithParam<const char*> {};
TEST_P(TooBusy, OriginalsRunAndTheReasonIsTold) {
    FakeHost host(late());
    const Outcome outcome = run_application(host.name(), GetParam());
    host.stop();
    EXPECT_TRUE(outcome.ok()) << outcome.output;
    EXPECT_EQ(host.work().launches_instrumented, 0u);
    EXPECT_GT(host.work().launches, 10u);
    // The last call of the application synchronised the context: then the copy came in, too late for any launch.
    EXPECT_EQ(host.work().copy_state, 1u);
}
INSTANTIATE_TEST_SUITE_P(Agent, TooBusy, testing::Values("late-busy", "late-two-streams"));

}  // namespace
}  // namespace egpu::test
