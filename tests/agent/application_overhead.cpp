// SPDX-License-Identifier: Apache-2.0
// Ways of the test application for the measurement of overhead, and of what holds its threads.
#include <unistd.h>

#include <map>
#include <thread>
#include <vector>

#include "application.hpp"

namespace application {

namespace {

void launch_grid(CUfunction function, unsigned int blocks) {
    check(CALL(cuLaunchKernel, 7000)(function, blocks, 1, 1, 128, 1, 1, 0, nullptr, nullptr, nullptr), "launch");
}

// Rests now and then, so that the agent comes to read its timers.
void rest(int launch) {
    if (launch % 200 != 199)
        return;
    synchronise();
    usleep(15'000);
}

// Grids of so many sizes in turn.
void grids(int launches, int sizes) {
    retain_and_set();
    const CUfunction work = load_work();
    for (int i = 0; i < launches; ++i) {
        launch_grid(work, static_cast<unsigned int>(i % sizes) + 1);
        rest(i);
    }
    synchronise();
}

// After two launches that are alike no two are.
void ever_other_grids(int launches) {
    retain_and_set();
    const CUfunction work = load_work();
    launch_grid(work, 1);
    for (int i = 1; i < launches; ++i) {
        launch_grid(work, static_cast<unsigned int>(i));
        rest(i);
    }
    synchronise();
}

// Kernels that may begin before the one before them ends.
void overlapping(int launches) {
    retain_and_set();
    const CUfunction work = load_work();
    CUlaunchAttribute attribute{};
    attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    attribute.value.programmaticStreamSerializationAllowed = 1;
    const CUlaunchConfig config{1, 1, 1, 128, 1, 1, 0, nullptr, &attribute, 1};
    for (int i = 0; i < launches; ++i)
        check(CALL(cuLaunchKernelEx, 11060)(&config, work, nullptr, nullptr), "launch");
    synchronise();
}

void threads(int launches) {
    const CUcontext context = retain_and_set();
    const CUfunction work = load_work();
    std::vector<std::thread> all;
    for (int i = 0; i < 8; ++i)
        all.emplace_back([=] {
            check(CALL(cuCtxSetCurrent, 4000)(context), "set current");
            launch(work, launches);
        });
    for (std::thread& thread : all)
        thread.join();
    synchronise();
}

// A first launch whose second comes only after a long time.
void late_pairs(int) {
    retain_and_set();
    const CUfunction work = load_work();
    launch(work, 3);
    usleep(2'600'000);
    launch(work, 2);
    synchronise();
}

// The library's copies are in the second context; the launch is the first that the other one sees of it.
void launch_waits(int launches) {
    const CUcontext first = retain_and_set();
    CUcontext second = nullptr;
    check(CALL_AS(cuCtxCreate, cuCtxCreate_v2, 4000)(&second, 0, 0), "second context");
    const CUfunction kernel = load_work_as_library();
    check(CALL(cuCtxSetCurrent, 4000)(first), "set current");
    launch(kernel, launches);
    synchronise();
}

}  // namespace

bool run_overhead(const std::string& way, int launches) {
    static const std::map<std::string, void (*)(int)> ways = {
        {"one-grid", [](int n) { grids(n, 1); }},
        {"grids", [](int n) { grids(n, 4); }},
        {"many-grids", [](int n) { grids(n, 16); }},
        {"ever-other-grids", ever_other_grids},
        {"overlapping", overlapping},
        {"threads", threads},
        {"pairs-apart", late_pairs},
        {"launch-waits", launch_waits},
    };
    const auto found = ways.find(way);
    if (found == ways.end())
        return false;
    found->second(launches);
    return true;
}

}  // namespace application
