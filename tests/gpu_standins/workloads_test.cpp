// SPDX-License-Identifier: Apache-2.0
// The workloads, and programs built by nvcc where there is one, on the simulated GPU: stand-ins preloaded under their
// sonames, output and exit code as on a GPU.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "process.hpp"

namespace {

const std::string kWorkload = std::string(EGPU_BINARY_DIR) + "/bin/egpu-workload";
const std::string kPrograms = std::string(EGPU_BINARY_DIR) + "/workloads/";

struct Case {
    std::vector<std::string> words;
    int exit_code;
    std::string output;
    std::string error;  ///< stderr contains it; "": stderr is empty
};

class Workloads : public testing::TestWithParam<Case> {};

TEST_P(Workloads, PrintAndExitAsOnAGpu) {
    std::vector<std::string> command{kWorkload};
    command.insert(command.end(), GetParam().words.begin(), GetParam().words.end());
    const ProcessResult result = run_process(command, stand_ins());
    EXPECT_EQ(result.exit_code, GetParam().exit_code) << result.errors;
    EXPECT_EQ(result.output, GetParam().output);
    if (GetParam().error.empty()) {
        EXPECT_EQ(result.errors, "");
    } else {
        EXPECT_NE(result.errors.find(GetParam().error), std::string::npos) << result.errors;
    }
}

INSTANTIATE_TEST_SUITE_P(
    All, Workloads,
    testing::Values(
        Case{{"gather"}, 0, "gather: 2 kernels, 2 launches each, result ok\n", ""},
        Case{
            {"gather", "--elements", "256", "--launches", "1"}, 0, "gather: 2 kernels, 1 launch each, result ok\n", ""},
        Case{{"vecadd", "--elements", "1024", "--block", "128"}, 0, "vecadd: 1 kernel, 2 launches, result ok\n", ""},
        Case{{"vecadd", "--elements", "1001", "--launches", "5", "--block", "96"},
             0,
             "vecadd: 1 kernel, 5 launches, result ok\n",
             ""},
        Case{{"reduction"}, 0, "reduction: 1 kernel, 2 launches, result ok\n", ""},
        Case{{"reduction", "--elements", "1001"}, 0, "reduction: 1 kernel, 2 launches, result ok\n", ""},
        Case{{"histogram"}, 0, "histogram: 1 kernel, 2 launches, result ok\n", ""},
        Case{{"histogram", "--elements", "999"}, 0, "histogram: 1 kernel, 2 launches, result ok\n", ""},
        Case{{"divergent"}, 0, "divergent: 1 kernel, 2 launches, result ok\n", ""},
        Case{
            {"divergent", "--elements", "777", "--block", "64"}, 0, "divergent: 1 kernel, 2 launches, result ok\n", ""},
        Case{{"loop"}, 0, "loop: 1 kernel, 200 launches, result ok\n", ""},
        Case{{"spaces"}, 0, "spaces: 1 kernel, 2 launches, result ok\n", ""},
        Case{{"graph"}, 0, "graph: 1 kernel, 40 launches, result ok\n", ""},
        Case{{"graph", "--launches", "3", "--replays", "7", "--update"},
             0,
             "graph: 1 kernel, 21 launches, result ok\n",
             ""},
        Case{{"threads", "--launches", "5"}, 0, "threads: 1 kernel, 40 launches, result ok\n", ""},
        Case{{"contexts", "--launches", "5"}, 0, "contexts: 1 kernel, 10 launches, result ok\n", ""},
        Case{{"nothing"}, 2, "", "no workload nothing"},
        Case{{"gather", "--elements", "100"}, 2, "", "--elements takes a number from 256"},
        Case{{"gather", "--elements", "300"}, 2, "", "multiple of 256"},
        Case{{"gather", "--seconds", "3"}, 2, "", "gather has no option --seconds"},
        Case{{"vecadd", "--launches"}, 2, "", "--launches takes a value"},
        Case{{"--expected", "loop", "--seconds", "2"}, 2, "", "needs a number of launches"}));

TEST(WorkloadsAlone, SayThatThereIsNoDriver) {
    const ProcessResult result = run_process({kWorkload, "gather"}, {});
    if (result.exit_code == 0) {
        GTEST_SKIP() << "there is a CUDA driver on this machine";
    }
    EXPECT_EQ(result.exit_code, 77);
    EXPECT_EQ(result.output, "");
    EXPECT_EQ(result.errors,
              "egpu-workload: no CUDA driver found: run it under egpu run --simulated or on a machine with one\n");
}

TEST(WorkloadsAlone, RunForSeconds) {
    const ProcessResult result = run_process({kWorkload, "loop", "--seconds", "0.2"}, stand_ins());
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_NE(result.output.find("result ok"), std::string::npos) << result.output;
}

/// What egpu-workload --expected says of one kernel, space and kind of access.
std::uint64_t expected(const nlohmann::json& kernel, const std::string& space, const std::string& access,
                       const char* what) {
    for (const auto& one : kernel.at("accesses")) {
        if (one.at("space") == space && one.at("access") == access) {
            return one.at(what);
        }
    }
    return 0;
}

nlohmann::json expectations(std::vector<std::string> words) {
    words.insert(words.begin(), {kWorkload, "--expected"});
    return nlohmann::json::parse(run_process(words, {}).output);
}

TEST(Expectations, FollowFromTheOptions) {
    const nlohmann::json gather = expectations({"gather", "--elements", "1024", "--launches", "3"});
    ASSERT_EQ(gather.at("kernels").size(), 2U);
    const nlohmann::json& strided = gather.at("kernels").at(1);
    EXPECT_EQ(strided.at("name"), "gather_strided");
    EXPECT_EQ(strided.at("launches"), 3);
    EXPECT_EQ(expected(strided, "global", "load", "bytes"), 3U * 1024 * 4);
    EXPECT_EQ(expected(strided, "global", "load", "sectors"), 3U * 1024);
    EXPECT_EQ(expected(gather.at("kernels").at(0), "global", "load", "sectors"), 3U * 1024 / 8);

    const nlohmann::json reduction = expectations({"reduction", "--elements", "257", "--launches", "1"});
    EXPECT_EQ(expected(reduction.at("kernels").at(0), "global", "load", "accesses"), 257U);
    EXPECT_EQ(expected(reduction.at("kernels").at(0), "shared", "store", "accesses"), 16U);

    // Threads 0 to 34: 0 + 1 + ... + 31, then 0 + 1 + 2.
    const nlohmann::json divergent = expectations({"divergent", "--elements", "35", "--launches", "1"});
    EXPECT_EQ(expected(divergent.at("kernels").at(0), "global", "load", "accesses"), 499U);
}

struct Ending {
    std::string way;
    int exit_code;
    int signal;
    std::string output;
    std::string error;
};

class Endings : public testing::TestWithParam<Ending> {};

TEST_P(Endings, AreAsWithoutCuda) {
    const ProcessResult result = run_process({kPrograms + "egpu-endings", GetParam().way}, stand_ins());
    EXPECT_EQ(result.exit_code, GetParam().exit_code) << result.errors;
    EXPECT_EQ(result.signal, GetParam().signal);
    EXPECT_EQ(result.output, GetParam().output);
    EXPECT_NE(result.errors.find(GetParam().error), std::string::npos) << result.errors;
}

INSTANTIATE_TEST_SUITE_P(
    All, Endings,
    testing::Values(Ending{"return", 0, 0, "launched\n", ""}, Ending{"exit", 3, 0, "launched\n", ""},
                    Ending{"_exit", 4, 0, "launched\n", ""}, Ending{"quick_exit", 5, 0, "launched\n", ""},
                    Ending{"abort", -1, SIGABRT, "launched\n", ""}, Ending{"signal", -1, SIGTERM, "launched\n", ""},
                    Ending{"kill", -1, SIGKILL, "launched\n", ""}, Ending{"exec", 0, 0, "launched\nexecuted\n", ""},
                    Ending{"fork", 0, 0, "launched\nparent ok\n", ""}, Ending{"fork-before", 0, 0, "launched\n", ""},
                    Ending{"static-destructor", 0, 0, "launched\nlaunched from a static destructor\n", ""},
                    Ending{"fault", 0, 0, "launched\nCUDA_ERROR_ILLEGAL_ADDRESS\n", "egpu: simulated GPU: "}),
    [](const testing::TestParamInfo<Ending>& one) {
        std::string name = one.param.way;
        std::erase_if(name, [](char character) { return std::isalnum(static_cast<unsigned char>(character)) == 0; });
        return name + std::to_string(one.index);
    });

struct ToolkitProgram {
    std::string name;
    std::string output;
};

class ToolkitPrograms : public testing::TestWithParam<ToolkitProgram> {};

TEST_P(ToolkitPrograms, RunOnTheRuntimeStandIn) {
    const std::string program = kPrograms + GetParam().name;
    if (access(program.c_str(), X_OK) != 0) {
        GTEST_SKIP() << "built only where nvcc is found";
    }
    const ProcessResult result = run_process({program}, stand_ins());
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    EXPECT_EQ(result.output, GetParam().output);
    EXPECT_EQ(result.errors, "");
}

INSTANTIATE_TEST_SUITE_P(All, ToolkitPrograms,
                         testing::Values(ToolkitProgram{"nvcc_vecadd", "vecadd: result ok\n"},
                                         ToolkitProgram{"nvcc_two_kernels", "two_kernels: result ok\n"}),
                         [](const testing::TestParamInfo<ToolkitProgram>& one) { return one.param.name; });

TEST(RuntimeStandIn, SaysThatThereIsNoDriver) {
    const std::string program = kPrograms + "nvcc_vecadd";
    if (access(program.c_str(), X_OK) != 0) {
        GTEST_SKIP() << "built only where nvcc is found";
    }
    if (void* const driver = dlopen("libcuda.so.1", RTLD_LAZY)) {
        dlclose(driver);
        GTEST_SKIP() << "there is a CUDA driver on this machine";
    }
    const ProcessResult result =
        run_process({program}, {{"LD_PRELOAD", std::string(EGPU_BINARY_DIR) + "/lib/egpu/simulated/libcudart.so.13"}});
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_EQ(result.errors, "vecadd: cudaMalloc: no CUDA driver, or one that is too old\n");
}

TEST(RuntimeStandIn, TellsStaticProgramsWhatToDo) {
    const std::string program = kPrograms + "nvcc_vecadd_static";
    if (access(program.c_str(), X_OK) != 0) {
        GTEST_SKIP() << "built only where nvcc is found";
    }
    const ProcessResult result = run_process({program}, stand_ins());
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_NE(result.errors.find("nvcc -cudart shared"), std::string::npos) << result.errors;
}

}  // namespace
