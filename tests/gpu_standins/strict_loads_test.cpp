// SPDX-License-Identifier: Apache-2.0
// EGPU_SIMULATED_STRICT_LOADS=1: a load waits for what runs in its context, and what comes meanwhile waits for the
// load.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "driver_fixture.hpp"

namespace {

const bool strict = setenv("EGPU_SIMULATED_STRICT_LOADS", "1", 1) == 0;

/// Says that it runs in the first word at `flags`, and ends when the second one is set.
constexpr const char* kWaitPtx = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .entry wait(.param .u64 flags)
{
    .reg .pred %p1;
    .reg .b32 %r<3>;
    .reg .b64 %rd1;
    ld.param.u64 %rd1, [flags];
    mov.u32 %r1, 1;
    st.volatile.global.u32 [%rd1], %r1;
again:
    ld.volatile.global.u32 %r2, [%rd1+4];
    setp.eq.u32 %p1, %r2, 0;
    @%p1 bra again;
    ret;
}
)";

class StrictLoadsTest : public DriverTest {
protected:
    CUstream stream() {
        CUstream made = nullptr;
        EXPECT_EQ(DRIVER(cuStreamCreate)(&made, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
        return made;
    }
    template <typename Call>
    std::thread in_context(CUcontext context, const Call& call) {
        return std::thread([=] {
            ASSERT_EQ(DRIVER(cuCtxSetCurrent)(context), CUDA_SUCCESS);
            call();
        });
    }
};

/// A load must not end before the kernel was let go, and a launch behind it is held.
TEST_F(StrictLoadsTest, WaitForTheContextAndHoldIt) {
    ASSERT_TRUE(strict);
    CUfunction wait = nullptr;
    ASSERT_EQ(DRIVER(cuModuleGetFunction)(&wait, load(kWaitPtx), "wait"), CUDA_SUCCESS);
    const CUfunction increment = function("increment");
    void* pinned = nullptr;
    ASSERT_EQ(DRIVER(cuMemHostAlloc)(&pinned, 64, 0), CUDA_SUCCESS);
    auto* const flags = static_cast<volatile unsigned*>(pinned);
    CUdeviceptr address = reinterpret_cast<CUdeviceptr>(pinned);
    const CUstream first = stream();
    const CUstream second = stream();
    CUcontext other = nullptr;
    ASSERT_EQ(DRIVER(cuCtxCreate_v2)(&other, 0, 0), CUDA_SUCCESS);

    std::thread running = in_context(context_, [&] {
        void* parameters[] = {&address};
        EXPECT_EQ(launch(wait, parameters, 1, 1, 0, first), CUDA_SUCCESS);
    });
    while (flags[0] == 0) {
        std::this_thread::yield();
    }
    // Beside a running kernel launches go through, and so do loads into another context.
    in_context(context_, [&] { EXPECT_EQ(launch(increment, nullptr, 1, 1, 0, second), CUDA_SUCCESS); }).join();
    in_context(other, [&] { load(); }).join();

    std::atomic<bool> let_go{false};
    std::thread loading = in_context(context_, [&] {
        load();
        EXPECT_TRUE(let_go);
    });
    // Soon the load waits, and then a launch does not return.
    std::atomic<bool> returned{true};
    std::thread launching;
    for (int tries = 0; tries < 200 && returned; ++tries) {
        if (launching.joinable()) {
            launching.join();
        }
        returned = false;
        launching = in_context(context_, [&] {
            EXPECT_EQ(launch(increment, nullptr, 1, 1, 0, second), CUDA_SUCCESS);
            returned = true;
        });
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    EXPECT_FALSE(returned);
    let_go = true;
    flags[1] = 1;
    running.join();
    loading.join();
    launching.join();
    EXPECT_TRUE(returned);
    EXPECT_EQ(DRIVER(cuCtxDestroy_v2)(other), CUDA_SUCCESS);
}

}  // namespace
