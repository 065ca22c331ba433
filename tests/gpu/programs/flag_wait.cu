// SPDX-License-Identifier: Apache-2.0
// A kernel that runs waits for the next launch, on another stream: whoever holds that launch back until the device is
// idle hangs the program. The kernels are made ready first, as CUDA's lazy loading asks of such programs.
#include <thread>

#include "program.cuh"

__device__ unsigned long long nanoseconds() {
    unsigned long long now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

/// Waits at most 5 s, so that a held launch shows as a wrong result and not as a device that hangs.
__global__ void wait_for(volatile unsigned* flag, unsigned round, unsigned* seen) {
    const unsigned long long begin = nanoseconds();
    while (*flag < round) {
        if (nanoseconds() - begin > 5000000000ULL) return;
    }
    *seen = round;
}
__global__ void set(volatile unsigned* flag, unsigned round) {
    *flag = round;
}

int main() {
    program::limit(60);
    program::Stalls stalls("main");
    program::Array<unsigned> flag(1), seen(1);
    cudaStream_t first, second;
    MUST(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    MUST(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    cudaFuncAttributes attributes{};
    MUST(cudaFuncGetAttributes(&attributes, wait_for));
    MUST(cudaFuncGetAttributes(&attributes, set));
    MUST(cudaDeviceSynchronize());
    for (unsigned round = 1; round <= 10; ++round) {
        MUST(stalls.time("launch", [&] {
            wait_for<<<1, 1, 0, first>>>(flag.pointer, round, seen.pointer);
            return cudaGetLastError();
        }));
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        MUST(stalls.time("launch", [&] {
            set<<<1, 1, 0, second>>>(flag.pointer, round);
            return cudaGetLastError();
        }));
        MUST(cudaStreamSynchronize(first));
        MUST(cudaStreamSynchronize(second));
        program::must(seen.read()[0] == round, "the flag came while the kernel ran");
    }
    stalls.print();
    return program::done("flag_wait");
}
