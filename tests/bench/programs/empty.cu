// SPDX-License-Identifier: Apache-2.0
// Launches of an empty kernel, as fast as the host can: what a launch costs. The median of 40 rounds of
// 2,500. The process stays on one processor, so that rounds of different processes can be compared.
#include <sched.h>

#include "bench.cuh"

__global__ void empty() {}

static void stay_here() {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);  // of this thread only
}

int main() {
    using Clock = std::chrono::steady_clock;
    constexpr unsigned launches = 2500;
    constexpr unsigned rounds = 40;
    stay_here();
    for (int i = 0; i < 1000; ++i) empty<<<1, 1>>>();
    MUST(cudaDeviceSynchronize());
    std::vector<double> per_launch;
    const Clock::time_point start = Clock::now();
    for (unsigned round = 0; round < rounds; ++round) {
        const Clock::time_point begin = Clock::now();
        for (unsigned i = 0; i < launches; ++i) empty<<<1, 1>>>();
        MUST(cudaDeviceSynchronize());
        per_launch.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count() / launches);
    }
    MUST(cudaGetLastError());
    const double loop = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    std::nth_element(per_launch.begin(), per_launch.begin() + rounds / 2, per_launch.end());
    std::printf("time %.4f %.4f\n", per_launch[rounds / 2], loop);
}
