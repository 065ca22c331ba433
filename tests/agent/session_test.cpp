// SPDX-License-Identifier: Apache-2.0
// Whole sessions: an application under the agent, a mock driver below it, a fake egpu process beside it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>

#include "fake_host.hpp"
#include "segment/access/shared.hpp"

namespace egpu::test {
namespace {

using Answer = HostOptions::Answer;
using testing::HasSubstr;

std::string counts(int originals, int copies) {
    return "originals " + std::to_string(originals) + " copies " + std::to_string(copies) + "\n";
}

// ---- every way to the driver and back ---------------------------------------------------------------------------

class Ways : public testing::TestWithParam<const char*> {};

TEST_P(Ways, AllLaunchesRunTheCopyAndAllCountsArrive) {
    FakeHost host({});
    const Outcome outcome = run_application(host.name(), GetParam());
    host.stop();
    EXPECT_TRUE(outcome.ok()) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr(counts(0, 10)));
    EXPECT_EQ(host.work().launches, 10u);
    EXPECT_EQ(host.work().launches_instrumented, 10u);
    EXPECT_EQ(host.work().copy_state, 1u);
    EXPECT_EQ(host.counted(), 10u);
    EXPECT_EQ(host.header().state, static_cast<std::uint32_t>(EGPU_SESSION_DRAINED));
    EXPECT_EQ(host.header().end_reason, static_cast<std::uint32_t>(EGPU_END_EXIT));
    EXPECT_EQ(host.header().launches_unknown, 0u);
    EXPECT_EQ(host.header().agent_error, 0u);
    EXPECT_STREQ(host.header().program, "test_agent_application");
    ASSERT_EQ(host.results.size(), 1u);
    EXPECT_EQ(host.results[0].reason, static_cast<std::uint32_t>(EGPU_COPY_LOADED));
    EXPECT_EQ(host.results[0].registers, 32u);
    EXPECT_EQ(host.results[0].original_registers, 36u);
    ASSERT_EQ(host.devices.size(), 1u);
    EXPECT_TRUE(host.device_came_first);
    EXPECT_EQ(host.devices[0].compute_capability, 90u);
    EXPECT_STREQ(host.header().device_name, "mock device");
    // A driver can be asked how it lays them out when a context is there.
    EXPECT_EQ(host.tensor_maps_known, GetParam() != std::string("late-context"));
}

INSTANTIATE_TEST_SUITE_P(Agent, Ways,
                         testing::Values("plain", "library", "per-thread", "cuda-11", "late-context", "fork", "vfork",
                                         "exec-fails"));

TEST(Session, AProgramLinkedToTheDriverIsSeenAsWell) {
    // With the driver preloaded behind the agent, and with the driver that the loader finds.
    for (const char* preload : {EGPU_AGENT ":" EGPU_MOCK_DRIVER, EGPU_AGENT}) {
        FakeHost host({});
        const Outcome outcome =
            Application(host.name(), "", 0, {std::string("LD_PRELOAD=") + preload}, EGPU_LINKED).wait();
        host.stop();
        EXPECT_TRUE(outcome.ok()) << outcome.output;
        EXPECT_EQ(host.work().launches_instrumented, 10u) << preload;
        EXPECT_EQ(host.counted(), 10u) << preload;
    }
}

TEST(Session, TheSameImageAgainSendsNoBytesAndKeepsItsKernel) {
    FakeHost host({});
    const Outcome outcome = run_application(host.name(), "twice");
    host.stop();
    EXPECT_TRUE(outcome.ok()) << outcome.output;
    EXPECT_EQ(host.images_with_bytes, 1);
    EXPECT_EQ(host.images_without, 1);
    EXPECT_EQ(host.work().launches_instrumented, 20u);
    EXPECT_EQ(host.counted(), 20u);
}

TEST(Session, ModulesComeAndGo) {
    FakeHost host({});
    const Outcome outcome = run_application(host.name(), "unload");
    host.stop();
    EXPECT_TRUE(outcome.ok()) << outcome.output;
    EXPECT_EQ(host.work().launches_instrumented, 30u);
    EXPECT_EQ(host.counted(), 30u);
    EXPECT_EQ(host.header().launches_unknown, 0u);
}

TEST(Session, VariablesOfTheOriginalAreFound) {
    HostOptions options;
    options.symbols = {"app_counter"};
    FakeHost host(options);
    EXPECT_TRUE(run_application(host.name(), "plain").ok());
    host.stop();
    EXPECT_EQ(host.work().launches_instrumented, 10u);
}

// ---- how a process ends -----------------------------------------------------------------------------------------

struct End {
    const char* way;
    egpu_end_reason reason;
    int exit_code;
};
class Ends : public testing::TestWithParam<End> {};

TEST_P(Ends, TheLastDrainIsDone) {
    FakeHost host({});
    const Outcome outcome = run_application(host.name(), GetParam().way);
    host.stop();
    EXPECT_EQ(outcome.exit_code, GetParam().exit_code) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr("ok\n"));
    EXPECT_EQ(host.counted(), 10u);
    EXPECT_EQ(host.header().state, static_cast<std::uint32_t>(EGPU_SESSION_DRAINED));
    EXPECT_EQ(host.header().end_reason, static_cast<std::uint32_t>(GetParam().reason));
}

INSTANTIATE_TEST_SUITE_P(Agent, Ends,
                         testing::Values(End{"_exit", EGPU_END_UNDERSCORE_EXIT, 0},
                                         End{"_Exit", EGPU_END_UNDERSCORE_EXIT, 0},
                                         End{"quick_exit", EGPU_END_UNDERSCORE_EXIT, 0}, End{"execv", EGPU_END_EXEC, 0},
                                         End{"execl", EGPU_END_EXEC, 7}, End{"reset", EGPU_END_CONTEXT, 0},
                                         End{"release", EGPU_END_CONTEXT, 0}),
                         [](const auto& info) {
                             std::string name = info.param.way;
                             std::erase(name, '_');
                             return name + std::to_string(info.index);
                         });

TEST(Session, AbortLeavesItUndrained) {
    FakeHost host({});
    const Outcome outcome = run_application(host.name(), "abort");
    host.stop();
    EXPECT_EQ(outcome.signal, SIGABRT);
    EXPECT_EQ(host.header().state, static_cast<std::uint32_t>(EGPU_SESSION_RUNNING)) << "no final drain: incomplete";
    EXPECT_EQ(host.work().launches, 10u) << "counters lie in the segment";
}

TEST(Session, StaticDestructorsLaunchOriginalsAndAreCounted) {
    FakeHost host({});
    const Outcome outcome = run_application(host.name(), "static-destructor");
    host.stop();
    EXPECT_TRUE(outcome.ok()) << outcome.output;
    EXPECT_EQ(host.work().launches, 12u);
    EXPECT_EQ(host.work().launches_instrumented, 10u);
    EXPECT_EQ(host.counted(), 10u);
}

// ---- when the original runs -------------------------------------------------------------------------------------

struct Refusal {
    const char* name;
    HostOptions options;
    const char* way;
    egpu_copy_reason reason;
};
void PrintTo(const Refusal& refusal, std::ostream* out) {
    *out << refusal.name;
}
class Refusals : public testing::TestWithParam<Refusal> {};

TEST_P(Refusals, TheOriginalRunsAndTheReasonIsTold) {
    FakeHost host(GetParam().options);
    const Outcome outcome = run_application(host.name(), GetParam().way);
    host.stop();
    EXPECT_TRUE(outcome.ok()) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr(counts(10, 0)));
    EXPECT_EQ(host.work().launches, 10u);
    EXPECT_EQ(host.work().launches_instrumented, 0u);
    EXPECT_EQ(host.work().copy_reason, static_cast<std::uint32_t>(GetParam().reason));
    EXPECT_EQ(host.results.size(), 1u);
}

HostOptions with_copy(const char* lines) {
    HostOptions options;
    options.copy_lines = lines;
    return options;
}
HostOptions with_symbol(const char* symbol) {
    HostOptions options;
    options.symbols = {symbol};
    return options;
}
HostOptions with_table(std::uint32_t map, std::uint64_t offset) {
    HostOptions options;
    options.table_map = map;
    options.table_offset = offset;
    return options;
}
HostOptions with_limit(std::uint64_t bytes) {
    HostOptions options;
    options.gpu_memory_limit = bytes;
    return options;
}

INSTANTIATE_TEST_SUITE_P(
    Agent, Refusals,
    testing::Values(
        Refusal{"more_local_memory", with_copy("// mock-local 2048\n"), "plain", EGPU_COPY_LOCAL_MEMORY},
        Refusal{"fewer_blocks", with_copy("// mock-registers 128\n"), "large-blocks", EGPU_COPY_FEWER_BLOCKS},
        Refusal{"fewer_blocks_of_this_size", with_copy("// mock-registers 37\n"), "plain", EGPU_COPY_FEWER_BLOCKS},
        Refusal{"launch_fails", with_copy("// mock-launch-error 701\n"), "plain", EGPU_COPY_LOAD_FAILED},
        Refusal{"no_such_variable", with_symbol("nowhere"), "plain", EGPU_COPY_NO_SYMBOL},
        Refusal{"no_such_map", with_table(7, 0), "plain", EGPU_COPY_NO_SYMBOL},
        Refusal{"beyond_the_map", with_table(0, 1u << 20), "plain", EGPU_COPY_NO_SYMBOL},
        Refusal{"no_memory", with_limit(16), "plain", EGPU_COPY_NO_MEMORY}),
    [](const auto& info) { return info.param.name; });

TEST(Session, ACopyThatKeepsResidencyForThisBlockSizeIsLaunched) {
    FakeHost host(with_copy("// mock-add\n// mock-registers 37\n"));
    const Outcome outcome = run_application(host.name(), "large-blocks");
    host.stop();
    EXPECT_THAT(outcome.output, HasSubstr(counts(0, 10)));
}

TEST(Session, DetachedMeansOriginals) {
    FakeHost host({});
    segment::store_release(host.header().enabled, 0u);
    const Outcome outcome = run_application(host.name(), "plain");
    host.stop();
    EXPECT_THAT(outcome.output, HasSubstr(counts(10, 0)));
    EXPECT_EQ(host.work().launches, 10u);
}

TEST(Session, CapturedLaunchesCountWhenTheirGraphIsLaunched) {
    FakeHost host({});
    const Outcome outcome = run_application(host.name(), "captured");
    host.stop();
    EXPECT_TRUE(outcome.ok()) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr(counts(0, 0)));
    EXPECT_EQ(host.work().launches, 0u);
}

TEST(Session, AKernelWithoutACopyIsCounted) {
    HostOptions options;
    options.answer = Answer::kernels_only;
    FakeHost host(options);
    EXPECT_TRUE(run_application(host.name(), "plain").ok());
    host.stop();
    EXPECT_EQ(host.work().launches, 10u);
    EXPECT_EQ(host.work().copy_state, 0u);
}

TEST(Session, NoAnswerInTimeMeansOriginals) {
    HostOptions options;
    options.answer = Answer::nothing;
    options.wait_ms = 150;
    FakeHost host(options);
    const Outcome outcome = run_application(host.name(), "plain");
    host.stop();
    EXPECT_TRUE(outcome.ok()) << outcome.output;
    EXPECT_EQ(host.header().images_unanswered, 1u);
    EXPECT_EQ(host.header().launches_unknown, 10u);
    EXPECT_GE(host.header().wait_ns_longest, 140'000'000u);
    EXPECT_LT(host.header().wait_ns_longest, 1'500'000'000u);
}

class BadAnswers : public testing::TestWithParam<Answer> {};
TEST_P(BadAnswers, NonsenseEndsTheConversationNotTheApplication) {
    HostOptions options;
    options.answer = GetParam();
    FakeHost host(options);
    const Outcome outcome = run_application(host.name(), "twice");
    host.stop();
    EXPECT_TRUE(outcome.ok()) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr(counts(20, 0)));
    EXPECT_EQ(host.header().channel_broken, 1u);
}
INSTANTIATE_TEST_SUITE_P(Agent, BadAnswers, testing::Values(Answer::nonsense, Answer::wrong_sizes));

TEST(Session, ALostDeviceIsReportedOnce) {
    FakeHost host({});
    Application application(host.name(), "long", 10, {"MOCK_COPY_ERROR=700"});
    application.wait_for("running");
    usleep(300'000);
    EXPECT_EQ(host.header().agent_error, 700u);
    EXPECT_THAT(host.header().agent_error_text, HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS (700)"));
    EXPECT_THAT(host.header().agent_error_text, HasSubstr("since the last copy of the maps: 1"));
    const std::uint64_t instrumented = host.work().launches_instrumented;
    usleep(50'000);
    EXPECT_EQ(host.work().launches_instrumented, instrumented) << "originals from then on";
    EXPECT_GT(host.work().launches, instrumented);
}

// An error after which the context goes on: what the maps held at the end is not there, so the session is not called
// drained.
TEST(Session, ALastCopyThatFailsIsNoLastCopy) {
    FakeHost host({});
    const Outcome outcome = run_application(host.name(), "plain", 10, {"MOCK_COPY_ERROR=2"});
    host.stop();
    EXPECT_TRUE(outcome.ok()) << outcome.output;
    EXPECT_EQ(host.header().end_reason, static_cast<std::uint32_t>(EGPU_END_NONE));
    EXPECT_EQ(host.header().agent_error, 0u);
}

TEST(Session, ASecondProcessIsTurnedAwayAndCounted) {
    FakeHost host({});
    segment::store_release(host.header().agent_pid, 1u);
    const Outcome outcome = run_application(host.name(), "plain");
    host.stop();
    EXPECT_THAT(outcome.output, HasSubstr(counts(10, 0)));
    EXPECT_EQ(host.header().other_processes, 1u);
    EXPECT_EQ(host.work().launches, 0u);
}

// ---- drains -----------------------------------------------------------------------------------------------------

TEST(Session, DrainsOnRequestAndTwentyTimesASecond) {
    FakeHost host({});
    Application application(host.name(), "wait-for-input");
    application.wait_for("running");
    usleep(100'000);
    EXPECT_EQ(host.counted(), 10u) << "without an end, a request or another launch";
    host.header().drain_interval_us = 1'000'000;
    usleep(100'000);
    const std::uint64_t before = segment::load_acquire(host.header().drains);
    segment::add_relaxed(host.header().drain_request, 1u);
    segment::futex_wake(host.header().drain_request);
    usleep(100'000);
    EXPECT_GT(segment::load_acquire(host.header().drains), before);
    application.send("\n");
    EXPECT_TRUE(application.wait().ok());
    EXPECT_EQ(host.counted(), 20u);
}

// Where one record fills a chunk, a slow thread may fill the next one before its turn: no thread could begin that.
TEST(Session, ARingWhoseNextChunkIsFullAlreadyGoesOn) {
    HostOptions options;
    options.copy_lines = "// mock-sends\n";
    options.is_ring = true;
    FakeHost host(options);
    Application application(host.name(), "wait-for-input");
    application.wait_for("running");
    egpu_record_ring& ring = *host.view().record_ring(0).control;
    for (int turn = 0; turn < 500 && segment::load_acquire(ring.written) < 1024; ++turn)
        usleep(10'000);
    EXPECT_EQ(segment::load_acquire(ring.written), 1024u) << "both, while the program runs";
    segment::store_release(ring.read, std::uint64_t{1024});
    application.send("\n");
    EXPECT_TRUE(application.wait().ok());
    constexpr std::uint64_t kSent = 21;
    const std::uint64_t received = segment::load_acquire(ring.written) / 512;
    EXPECT_GE(received, 9u) << "all chunks are of use again";
    EXPECT_EQ(received + segment::load_relaxed(ring.dropped) + ring.behind / 512, kSent);
}

TEST(Session, TheApplicationKilledLosesAtMostTheLastMoment) {
    FakeHost host({});
    Application application(host.name(), "long");
    application.wait_for("running");
    usleep(400'000);
    kill(application.pid(), SIGKILL);
    EXPECT_EQ(application.wait().signal, SIGKILL);
    host.stop();
    EXPECT_EQ(host.header().state, static_cast<std::uint32_t>(EGPU_SESSION_RUNNING));
    EXPECT_NE(host.counted(), ~std::uint64_t{0});
    EXPECT_GE(host.counted() + 20, host.work().launches_instrumented);
}

// ---- what the agent must survive --------------------------------------------------------------------------------

TEST(Robust, NoSessionAtAll) {
    for (const char* way : {"plain", "library", "fork", "_exit", "execl"}) {
        const Outcome outcome = run_application("", way);
        EXPECT_THAT(outcome.output, HasSubstr("ok\n")) << way;
        EXPECT_THAT(outcome.output, HasSubstr(counts(10, 0))) << way;
    }
}

TEST(Robust, GarbageInTheVariable) {
    const std::string names[] = {"egpu-0-999999999", "/etc/passwd", "../../x", "egpu-", "a", std::string(5000, 'x')};
    for (const std::string& name : names)
        EXPECT_TRUE(run_application(name, "plain").ok());
}

TEST(Robust, ADamagedSegmentIsLeftAlone) {
    FakeHost host({});
    host.header().maps.offset = ~std::uint64_t{0};
    const Outcome outcome = run_application(host.name(), "plain");
    host.stop();
    EXPECT_TRUE(outcome.ok());
    EXPECT_EQ(host.header().agent_pid, 0u);
}

TEST(Robust, ASegmentDamagedWhileInUse) {
    for (const int fill : {0xff, 0x00, 0x7f}) {
        FakeHost host({});
        const std::string name = host.name();
        Application application(name, "wait-for-input");
        application.wait_for("running");
        host.stop();
        std::memset(static_cast<void*>(&host.header()), fill, sizeof(egpu_segment_header));
        std::memset(static_cast<void*>(&host.view().map(0)), fill, sizeof(egpu_map_entry));
        usleep(100'000);
        application.send("\n");
        EXPECT_TRUE(application.wait().ok()) << fill;
    }
}

// An egpu process of its own, to be killed.
struct HostProcess {
    pid_t pid = -1;
    std::string segment;
    HostProcess() {
        int ready[2];
        if (pipe(ready) != 0)
            throw std::runtime_error("pipe");
        pid = fork();
        if (pid == 0) {
            HostOptions options;
            options.wait_ms = 60'000;
            const FakeHost host(options);
            (void)!write(ready[1], "x", 1);
            pause();
            _exit(0);
        }
        char made = 0;
        (void)!read(ready[0], &made, 1);
        close(ready[0]);
        close(ready[1]);
        segment = "egpu-" + std::to_string(getuid()) + "-" + std::to_string(pid);
    }
    void kill_it() {
        kill(pid, SIGKILL);
        waitpid(pid, nullptr, 0);
    }
};

TEST(Robust, TheEgpuProcessKilledInMidRun) {
    HostProcess host;
    Application application(host.segment, "wait-for-input");
    application.wait_for("running");
    host.kill_it();
    const auto file = std::filesystem::path("/dev/shm") / host.segment;
    EXPECT_TRUE(std::filesystem::exists(file));
    usleep(2'300'000);  // a heartbeat older than two seconds
    application.send("\n");
    const Outcome outcome = application.wait();
    EXPECT_TRUE(outcome.ok()) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr(counts(10, 10))) << "originals after it was found dead";
    EXPECT_FALSE(std::filesystem::exists(file)) << "nothing is left behind";
}

TEST(Robust, TheEgpuProcessKilledBeforeTheLoad) {
    HostProcess host;
    host.kill_it();
    const auto begin = std::chrono::steady_clock::now();
    const Outcome outcome = run_application(host.segment, "plain");
    EXPECT_TRUE(outcome.ok()) << outcome.output;
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30)) << "nobody waits for the dead";
    std::filesystem::remove("/dev/shm/" + host.segment);
}

}  // namespace
}  // namespace egpu::test
