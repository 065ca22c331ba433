// SPDX-License-Identifier: Apache-2.0
// What the benchmark programs share: launches timed one by one with events, the whole of them by the host's clock, and a
// line "time KERNEL_US LOOP_MS" on stdout: the median of the launches and the wall time of the loop.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace bench {

inline void must(cudaError_t error, const char* call) {
    if (error != cudaSuccess) {
        std::fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(error));
        std::exit(1);
    }
}
inline void must(bool right, const char* what) {
    if (!right) {
        std::fprintf(stderr, "%s is wrong\n", what);
        std::exit(1);
    }
}
#define MUST(call) ::bench::must((call), #call)

template <typename T>
T* device_array(const std::vector<T>& values) {
    T* pointer = nullptr;
    MUST(cudaMalloc(&pointer, values.size() * sizeof(T)));
    MUST(cudaMemcpy(pointer, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
    return pointer;
}
template <typename T>
std::vector<T> host_array(const T* pointer, size_t count) {
    std::vector<T> values(count);
    MUST(cudaMemcpy(values.data(), pointer, count * sizeof(T), cudaMemcpyDeviceToHost));
    return values;
}

/// Runs `launch` ten times to warm up, then `count` times between events, then `count` times without.
template <typename Launch>
void time(unsigned count, Launch launch) {
    using Clock = std::chrono::steady_clock;
    for (int i = 0; i < 10; ++i) launch();
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());
    std::vector<cudaEvent_t> begin(count), end(count);
    for (unsigned i = 0; i < count; ++i) {
        MUST(cudaEventCreate(&begin[i]));
        MUST(cudaEventCreate(&end[i]));
    }
    for (unsigned i = 0; i < count; ++i) {
        MUST(cudaEventRecord(begin[i]));
        launch();
        MUST(cudaEventRecord(end[i]));
    }
    MUST(cudaDeviceSynchronize());
    std::vector<float> times(count);
    for (unsigned i = 0; i < count; ++i) MUST(cudaEventElapsedTime(&times[i], begin[i], end[i]));
    std::nth_element(times.begin(), times.begin() + count / 2, times.end());
    const Clock::time_point start = Clock::now();
    for (unsigned i = 0; i < count; ++i) launch();
    MUST(cudaDeviceSynchronize());
    const double loop = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    std::printf("time %.3f %.4f\n", times[count / 2] * 1000, loop);
}

}  // namespace bench
