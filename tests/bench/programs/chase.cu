// SPDX-License-Identifier: Apache-2.0
// A pointer chase: one thread follows pointers through all lines of a buffer in random order, so that a load's address
// is the value of the one before, and the time of the chase is the latency of its loads. Usage: chase BYTES LOADS
// [BUSY_MS]. Prints "chase BYTES WARM_UP LOADS CYCLES NS": the time of the LOADS by the kernel's own clocks, of a chase
// that ended where it must. The buffer's size decides which cache holds it. The timed loads are of 8 bytes; those of
// the warm-up are of 16, so that a probe can tell the two apart by their size.
#include <numeric>
#include <random>

#include "bench.cuh"

constexpr size_t kLine = 128;
// The warm-up goes through the whole buffer, but no further than through 128 MiB: no cache holds more.
constexpr size_t kMostWarmUp = size_t{1} << 20;
// Loads of one round of the timed loop, so that its branch is not what is measured where a load takes 30 cycles.
constexpr unsigned kUnrolled = 8;

using Pointer = unsigned long long;

__global__ void link(char* buffer, const unsigned* next, unsigned lines) {
    const unsigned line = blockIdx.x * blockDim.x + threadIdx.x;
    if (line >= lines)
        return;
    auto* const at = reinterpret_cast<Pointer*>(buffer + line * kLine);
    at[0] = reinterpret_cast<Pointer>(buffer) + next[line] * kLine;
    at[1] = 0;
}

__device__ unsigned long long nanoseconds() {
    unsigned long long now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    return now;
}

/// Keeps an idle device busy before, so that it runs at the clock of a device that works.
__global__ void keep_busy(unsigned long long for_ns) {
    const unsigned long long begin = nanoseconds();
    while (nanoseconds() - begin < for_ns) {
    }
}

struct Times {
    long long cycles;
    unsigned long long ns;
};

/// One block of one thread. Branches on a pointer that is never null wait for the last load before a clock is read.
__global__ void chase(Pointer at, unsigned warm_up, unsigned loads, Pointer* end, Times* times) {
#pragma unroll 1
    for (unsigned i = 0; i < warm_up; ++i)
        asm volatile("ld.global.v2.u64 {%0, _}, [%0];" : "+l"(at) : : "memory");
    if (at == 0)
        return;
    const unsigned long long begin_ns = nanoseconds();
    const long long begin = clock64();
#pragma unroll 1
    for (unsigned i = 0; i < loads; i += kUnrolled) {
#pragma unroll
        for (unsigned k = 0; k < kUnrolled; ++k)
            asm volatile("ld.global.u64 %0, [%0];" : "+l"(at) : : "memory");
    }
    if (at == 0)
        return;
    times->cycles = clock64() - begin;
    times->ns = nanoseconds() - begin_ns;
    *end = at;
}

/// The line that follows each: one cycle through all of them, every one as likely (Sattolo's).
static std::vector<unsigned> one_cycle(unsigned lines) {
    std::vector<unsigned> next(lines);
    std::iota(next.begin(), next.end(), 0u);
    std::mt19937_64 random(12345);
    for (unsigned i = lines - 1; i > 0; --i)
        std::swap(next[i], next[random() % i]);
    return next;
}

int main(int count, char** words) {
    const size_t bytes = count > 2 ? std::strtoull(words[1], nullptr, 0) : 0;
    const unsigned long long busy_ms = count > 3 ? std::strtoull(words[3], nullptr, 0) : 0;
    const size_t loads = count > 2 ? std::strtoull(words[2], nullptr, 0) : 0;
    if (bytes < 2 * kLine || bytes % kLine != 0 || bytes / kLine > 1u << 30 || loads == 0 || loads > 1u << 30 ||
        loads % kUnrolled != 0) {
        std::fprintf(stderr,
                     "usage: chase BYTES LOADS [BUSY_MS] (BYTES: two or more lines of %zu; LOADS: a multiple of %u)\n",
                     kLine, kUnrolled);
        return 2;
    }
    const auto lines = static_cast<unsigned>(bytes / kLine);
    const auto warm_up = static_cast<unsigned>(std::min<size_t>(lines, kMostWarmUp));
    const std::vector<unsigned> next = one_cycle(lines);
    unsigned* const device_next = bench::device_array(next);
    char* buffer = nullptr;
    MUST(cudaMalloc(&buffer, bytes));
    Pointer* const end = bench::device_array(std::vector<Pointer>(1));
    Times* const times = bench::device_array(std::vector<Times>(1));
    if (busy_ms > 0)
        keep_busy<<<1, 1>>>(std::min(busy_ms, 1000ull) * 1000000);
    link<<<(lines + 255) / 256, 256>>>(buffer, device_next, lines);
    chase<<<1, 1>>>(reinterpret_cast<Pointer>(buffer), warm_up, static_cast<unsigned>(loads), end, times);
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());
    unsigned line = 0;
    for (size_t i = 0; i < warm_up + loads; ++i)
        line = next[line];
    bench::must(bench::host_array(end, 1)[0] == reinterpret_cast<Pointer>(buffer) + line * kLine,
                "where the chase ended");
    const Times took = bench::host_array(times, 1)[0];
    bench::must(took.cycles > 0, "the kernel's clock");
    std::printf("chase %zu %u %zu %lld %llu\n", bytes, warm_up, loads, took.cycles, took.ns);
}
