// SPDX-License-Identifier: Apache-2.0
// Each driver call of the agent fails in turn: the application's launches all run and all are counted, and the session
// says why where its copies did not run.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "fake_host.hpp"
#include "segment/access/shared.hpp"

namespace egpu::test {
namespace {

struct Case {
    const char* program;
    const char* way;
    std::uint64_t launches;
    int step;                     ///< of the calls every `step`-th
    const char* bank_lines = "";  ///< the copy's form with constants of its own
    bool measure_overhead = false;
};
void PrintTo(const Case& one, std::ostream* out) {
    *out << one.way;
}

class Faults : public testing::TestWithParam<Case> {};

TEST_P(Faults, LeaveTheApplicationAsItIs) {
    const std::string report = testing::TempDir() + "egpu_faults_" + std::to_string(getpid());
    std::set<std::string> failed;
    int call = 1, instrumented = 0;
    for (; call < 1000; call += GetParam().step) {
        std::filesystem::remove(report);
        HostOptions options;
        options.bank_lines = GetParam().bank_lines;
        options.copy_lines += "// mock-time 1000\n";
        options.measure_overhead = GetParam().measure_overhead;
        FakeHost host(options);
        const Outcome outcome = Application(host.name(), GetParam().way, 10,
                                            {"LD_PRELOAD=" EGPU_AGENT_FAULTS ":" EGPU_MOCK_DRIVER, "MOCK_NO_EVENTS=17",
                                             "EGPU_FAULT_CALL=" + std::to_string(call), "EGPU_FAULT_REPORT=" + report},
                                            GetParam().program)
                                    .wait();
        host.stop();
        std::string line;
        std::getline(std::ifstream(report), line);
        if (line.empty())
            break;
        failed.insert(line.substr(line.find("cu")));
        EXPECT_TRUE(outcome.ok()) << line << "\n" << outcome.output << outcome.signal;
        const egpu_kernel_counters& work = host.work();
        if (host.header().graph_launches_partly == 0) {
            EXPECT_EQ(work.launches + host.header().launches_unknown, GetParam().launches) << line;
        }
        instrumented += work.launches_instrumented + work.launches_left_out == GetParam().launches ? 1 : 0;
        const bool said = work.copy_reason != 0 || host.header().agent_error != 0 ||
                          host.header().images_unanswered != 0 || host.header().launches_unknown != 0 ||
                          host.header().graph_launches_partly != 0 || work.launches_captured != 0;
        EXPECT_TRUE(work.launches_instrumented != 0 || said) << line << ": no reason";
    }
    std::filesystem::remove(report);
    EXPECT_LT(call, 1000) << "the calls come to an end";
    EXPECT_GT(failed.size(), 10u) << "different calls failed";
    const bool refresh_failed = std::any_of(failed.begin(), failed.end(), [](const std::string& name) {
        return name.rfind("cuMemcpyDtoDAsync_v2", 0) == 0;
    });
    EXPECT_EQ(refresh_failed, *GetParam().bank_lines != 0);
    EXPECT_GT(instrumented, 0) << "not every failure is the copy's end";
}

INSTANTIATE_TEST_SUITE_P(
    Agent, Faults,
    testing::Values(Case{EGPU_APPLICATION, "plain", 10, 1}, Case{EGPU_APPLICATION_GRAPHS, "captured-library", 8, 1},
                    Case{EGPU_APPLICATION, "constants-plain", 10, 1, "// mock-add\n// mock-bank\n"},
                    Case{EGPU_APPLICATION, "plain", 10, 1, "", true}, Case{EGPU_APPLICATION, "grids", 10, 1, "", true},
                    Case{EGPU_APPLICATION, "constants-plain", 10, 1, "// mock-add\n// mock-bank\n", true}),
    [](const auto& info) { return "way" + std::to_string(info.index); });

// Copies are switched off while the source of a graph is gone: whichever call fails, launches count as what they ran.
TEST(FollowingWithFaults, CountsWhatItRuns) {
    const std::string report = testing::TempDir() + "egpu_following_" + std::to_string(getpid());
    int call = 1, followed = 0;
    for (; call < 1000; ++call) {
        std::filesystem::remove(report);
        FakeHost host({});
        Application application(host.name(), "switched-without-graph", 0,
                                {"LD_PRELOAD=" EGPU_AGENT_FAULTS ":" EGPU_MOCK_DRIVER,
                                 "EGPU_FAULT_CALL=" + std::to_string(call), "EGPU_FAULT_REPORT=" + report},
                                EGPU_APPLICATION_GRAPHS);
        application.wait_for("paused\n");
        segment::store_release(host.header().enabled, 0u);
        application.send("\n");
        const Outcome outcome = application.wait();
        host.stop();
        std::string line;
        std::getline(std::ifstream(report), line);
        if (line.empty())
            break;
        EXPECT_TRUE(outcome.ok()) << line << "\n" << outcome.output;
        followed += outcome.output.find("originals 4 copies 2") != std::string::npos ? 1 : 0;
        if (host.header().graph_launches_partly != 0)
            continue;  // said to be unknown
        const egpu_kernel_counters& work = host.work();
        const std::uint64_t originals = work.launches - work.launches_instrumented + host.header().launches_unknown;
        const std::string ran =
            "originals " + std::to_string(originals) + " copies " + std::to_string(work.launches_instrumented);
        EXPECT_NE(outcome.output.find(ran), std::string::npos) << line << "\n" << outcome.output << ran;
    }
    std::filesystem::remove(report);
    EXPECT_GT(call, 20) << "calls failed";
    EXPECT_LT(call, 1000) << "the calls come to an end";
    EXPECT_GT(followed, 5) << "not every failure keeps it from following";
}

}  // namespace
}  // namespace egpu::test
