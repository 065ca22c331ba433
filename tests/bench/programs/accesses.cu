// SPDX-License-Identifier: Apache-2.0
// One kernel for each way to access global memory, each launched once with 64 blocks of 256 threads: for
// tests/bench/counters, which compares a profiler's counts of requests and sectors with egpu's. Each thread makes four
// accesses in turn (stores and atomics: two), through asm, so that what is counted is what stands there.
#include <cstring>

#include "bench.cuh"

constexpr unsigned kBlocks = 64, kThreads = 256, kAll = kBlocks * kThreads;
constexpr size_t kBytes = size_t{64} << 20;

struct Where {
    unsigned thread, lane, warp;
};
__device__ Where here() {
    const unsigned thread = blockIdx.x * kThreads + threadIdx.x;
    return {thread, thread % 32, thread / 32};
}

__device__ unsigned load_4(const char* at) {
    unsigned value;
    asm volatile("ld.global.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
    return value;
}
__device__ unsigned load_8(const char* at) {
    unsigned a, b;
    asm volatile("ld.global.v2.u32 {%0, %1}, [%2];" : "=r"(a), "=r"(b) : "l"(at) : "memory");
    return a + b;
}
__device__ unsigned load_16(const char* at) {
    unsigned a, b, c, d;
    asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "l"(at) : "memory");
    return a + b + c + d;
}
__device__ unsigned load_1(const char* at) {
    unsigned short value;
    asm volatile("ld.global.u8 %0, [%1];" : "=h"(value) : "l"(at) : "memory");
    return value;
}
__device__ void store_4(char* at, unsigned value) {
    asm volatile("st.global.u32 [%0], %1;" : : "l"(at), "r"(value) : "memory");
}
__device__ void store_16(char* at, unsigned value) {
    asm volatile("st.global.v4.u32 [%0], {%1, %1, %1, %1};" : : "l"(at), "r"(value) : "memory");
}
__device__ unsigned add_4(char* at) {
    unsigned before;
    asm volatile("atom.global.add.u32 %0, [%1], 1;" : "=r"(before) : "l"(at) : "memory");
    return before;
}
__device__ void reduce_4(char* at) {
    asm volatile("red.global.add.u32 [%0], 1;" : : "l"(at) : "memory");
}

// A loop that is not unrolled: one site each. Sums are kept by a store that never happens, since no value is all ones.
#define LOADS(NAME, LOAD, OFFSET, CONDITION)                             \
    __global__ void NAME(char* memory) {                                 \
        const Where at = here();                                         \
        unsigned sum = 0;                                                \
        _Pragma("unroll 1") for (unsigned i = 0; i < 4; ++i) {           \
            if (CONDITION)                                               \
                sum += LOAD(memory + (OFFSET) + size_t{i} * (8u << 20)); \
        }                                                                \
        if (sum == ~0u)                                                  \
            store_4(memory, sum);                                        \
    }
#define WRITES(NAME, WRITE, OFFSET)                                     \
    __global__ void NAME(char* memory) {                                \
        const Where at = here();                                        \
        _Pragma("unroll 1") for (unsigned i = 0; i < 2; ++i) {          \
            WRITE(memory + (OFFSET) + size_t{i} * (8u << 20), at.lane); \
        }                                                               \
    }

LOADS(load_1_byte, load_1, at.thread, true)
LOADS(load_4_bytes, load_4, at.thread * 4, true)
LOADS(load_8_bytes, load_8, at.thread * 8, true)
LOADS(load_16_bytes, load_16, at.thread * 16, true)
LOADS(load_shifted_by_4, load_4, at.thread * 4 + 4, true)
LOADS(load_stride_8, load_4, at.thread * 8, true)
LOADS(load_stride_32, load_4, at.thread * 32, true)
LOADS(load_stride_128, load_4, at.thread * 128, true)
LOADS(load_16_stride_128, load_16, at.thread * 128, true)
LOADS(load_one_address, load_4, at.warp * 128, true)
LOADS(load_every_other_lane, load_4, at.thread * 4, at.lane % 2 == 0)
LOADS(load_backwards, load_4, (kAll - 1 - at.thread) * 4, true)
LOADS(atomic_with_result, add_4, at.thread * 4, true)
WRITES(store_4_bytes, store_4, at.thread * 4)
WRITES(store_16_bytes, store_16, at.thread * 16)
WRITES(store_stride_32, store_4, at.thread * 32)
#define REDUCE(at, value) reduce_4(at)
WRITES(atomic_without_result, REDUCE, at.thread * 4)
WRITES(atomic_one_address, REDUCE, at.warp * 128)

int main() {
    char* memory = nullptr;
    MUST(cudaMalloc(&memory, kBytes));
    MUST(cudaMemset(memory, 0, kBytes));
    void (*const kernels[])(char*) = {load_1_byte,        load_4_bytes,     load_8_bytes,          load_16_bytes,
                                      load_shifted_by_4,  load_stride_8,    load_stride_32,        load_stride_128,
                                      load_16_stride_128, load_one_address, load_every_other_lane, load_backwards,
                                      store_4_bytes,      store_16_bytes,   store_stride_32};
    for (const auto kernel : kernels) {
        kernel<<<kBlocks, kThreads>>>(memory);
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
    }
    // What the atomics leave behind shows that each was done: four with a result, two and two without.
    MUST(cudaMemset(memory, 0, kBytes));
    atomic_with_result<<<kBlocks, kThreads>>>(memory);
    atomic_without_result<<<kBlocks, kThreads>>>(memory);
    MUST(cudaDeviceSynchronize());
    for (unsigned i = 0; i < 4; ++i) {
        const auto counts = bench::host_array(reinterpret_cast<unsigned*>(memory + size_t{i} * (8u << 20)), kAll);
        for (const unsigned count : counts)
            bench::must(count == (i < 2 ? 2u : 1u), "a count");
    }
    MUST(cudaMemset(memory, 0, kBytes));
    atomic_one_address<<<kBlocks, kThreads>>>(memory);
    MUST(cudaDeviceSynchronize());
    const auto counts = bench::host_array(reinterpret_cast<unsigned*>(memory), kAll);
    for (unsigned warp = 0; warp < kAll / 32; ++warp)
        bench::must(counts[warp * 32] == 32, "a sum");
}
