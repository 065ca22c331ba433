// SPDX-License-Identifier: Apache-2.0
// The sessions of session_test once more on a real driver and GPU; skipped where there is none.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_host.hpp"
#include "gpu/device/driver.h"
#include "segment/access/shared.hpp"

namespace egpu::test {
namespace {

// Asked in a child: this process stays without a device.
bool has_device() {
    const pid_t child = fork();
    if (child == 0) {
        void* library = dlopen("libcuda.so.1", RTLD_LAZY);
        const auto init = library != nullptr ? reinterpret_cast<decltype(&cuInit)>(dlsym(library, "cuInit")) : nullptr;
        _exit(init != nullptr && init(0) == CUDA_SUCCESS ? 0 : 1);
    }
    int status = 1;
    waitpid(child, &status, 0);
    return status == 0;
}

struct Case {
    const char* way;
    egpu_end_reason reason;
    int exit_code;
};
void PrintTo(const Case& value, std::ostream* out) {
    *out << value.way;
}

class RealDriver : public testing::TestWithParam<Case> {
protected:
    void SetUp() override {
        static const bool present = has_device();
        if (!present)
            GTEST_SKIP() << "no NVIDIA driver and GPU";
        real_driver = true;
    }
};

TEST_P(RealDriver, EveryLaunchIsCounted) {
    HostOptions options;
    options.symbols = {"app_counter"};
    FakeHost host(options);
    const Outcome outcome = run_application(host.name(), GetParam().way, 100);
    host.stop();
    EXPECT_EQ(outcome.exit_code, GetParam().exit_code) << outcome.output << outcome.signal;
    EXPECT_EQ(host.header().agent_error, 0u) << host.header().agent_error_text;
    EXPECT_TRUE(host.device_came_first);
    EXPECT_EQ(host.work().launches, 100u);
    EXPECT_EQ(host.work().launches_instrumented, 100u);
    EXPECT_EQ(host.counted(), 100u);
    EXPECT_EQ(host.header().end_reason, static_cast<std::uint32_t>(GetParam().reason));
    EXPECT_EQ(host.header().launches_unknown, 0u);
    ASSERT_EQ(host.results.size(), 1u);
    EXPECT_EQ(host.results[0].reason, static_cast<std::uint32_t>(EGPU_COPY_LOADED));
    EXPECT_GT(host.results[0].registers, 0u);
    EXPECT_GT(host.header().device_attribute_sm_count, 0u);
    std::printf("%s, waited %.1f ms, registers %u, original %u\n", host.header().device_name,
                static_cast<double>(host.header().wait_ns_longest) / 1e6, host.results[0].registers,
                host.results[0].original_registers);
}

INSTANTIATE_TEST_SUITE_P(Agent, RealDriver,
                         testing::Values(Case{"plain", EGPU_END_EXIT, 0}, Case{"library", EGPU_END_EXIT, 0},
                                         Case{"per-thread", EGPU_END_EXIT, 0}, Case{"cuda-11", EGPU_END_EXIT, 0},
                                         Case{"late-context", EGPU_END_EXIT, 0}, Case{"fork", EGPU_END_EXIT, 0},
                                         Case{"vfork", EGPU_END_EXIT, 0}, Case{"_exit", EGPU_END_UNDERSCORE_EXIT, 0},
                                         Case{"quick_exit", EGPU_END_UNDERSCORE_EXIT, 0},
                                         Case{"execl", EGPU_END_EXEC, 7}, Case{"reset", EGPU_END_CONTEXT, 0},
                                         Case{"release", EGPU_END_CONTEXT, 0}),
                         [](const auto& info) {
                             std::string name = info.param.way;
                             std::erase(name, '_');
                             std::erase(name, '-');
                             return name;
                         });

class RealDriverOnce : public RealDriver {};

TEST_P(RealDriverOnce, CapturedLaunchesAreNone) {
    FakeHost host({});
    const Outcome outcome = run_application(host.name(), "captured", 10);
    host.stop();
    EXPECT_TRUE(outcome.ok()) << outcome.output;
    EXPECT_EQ(host.work().launches, 0u);
}

TEST_P(RealDriverOnce, DrainsWhileItRuns) {
    FakeHost host({});
    Application application(host.name(), "long");
    application.wait_for("running");
    usleep(500'000);
    const std::uint64_t counted = host.counted(), drains = segment::load_acquire(host.header().drains);
    EXPECT_GT(counted, 10u);
    EXPECT_NE(counted, ~std::uint64_t{0});
    EXPECT_GE(drains, 8u);
    kill(application.pid(), SIGKILL);
    application.wait();
    host.stop();
    EXPECT_GE(host.counted() + 20, host.work().launches_instrumented);
}

INSTANTIATE_TEST_SUITE_P(Agent, RealDriverOnce, testing::Values(Case{"", EGPU_END_NONE, 0}));

}  // namespace
}  // namespace egpu::test
