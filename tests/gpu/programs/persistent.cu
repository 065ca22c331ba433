// SPDX-License-Identifier: Apache-2.0
// A kernel that runs SECONDS (argument) while other threads launch, copy and allocate beside it, and while probes come
// and go (tests/gpu/run sees to that): how long did the longest call of each thread take?
#include <atomic>
#include <thread>

#include "program.cuh"

__global__ void forever(volatile unsigned* stop, unsigned long long* rounds) {
    while (*stop == 0) {
        ++*rounds;
    }
}
__global__ void small(unsigned* values) {
    values[threadIdx.x] += 1;
}

static void work(const char* name, std::atomic<bool>* go_on) {
    program::Stalls stalls(name);
    cudaStream_t stream;
    MUST(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    unsigned* values = nullptr;
    unsigned* host = nullptr;
    MUST(cudaMalloc(&values, 256 * sizeof(unsigned)));
    MUST(cudaMemsetAsync(values, 0, 256 * sizeof(unsigned), stream));
    MUST(cudaMallocHost(&host, 256 * sizeof(unsigned)));
    MUST(cudaStreamSynchronize(stream));
    unsigned launches = 0;
    while (go_on->load()) {
        MUST(stalls.time("launch", [&] {
            small<<<1, 256, 0, stream>>>(values);
            return cudaGetLastError();
        }));
        ++launches;
        MUST(stalls.time("copy", [&] {
            return cudaMemcpyAsync(host, values, 256 * sizeof(unsigned), cudaMemcpyDeviceToHost, stream);
        }));
        MUST(stalls.time("synchronize", [&] { return cudaStreamSynchronize(stream); }));
        for (int i = 0; i < 256; ++i) program::must(host[i] == launches, "what the small kernel counts");
    }
    stalls.print();
}

int main(int count, char** words) {
    const double seconds = count > 1 ? std::atof(words[1]) : 2;
    program::limit(static_cast<unsigned>(seconds) + 60);
    unsigned* stop = nullptr;
    MUST(cudaHostAlloc(&stop, sizeof *stop, cudaHostAllocMapped));
    *stop = 0;
    program::Array<unsigned long long> rounds(1);
    program::Array<unsigned> warm(256);
    cudaFuncAttributes attributes{};
    MUST(cudaFuncGetAttributes(&attributes, forever));
    small<<<1, 256>>>(warm.pointer);
    MUST(cudaDeviceSynchronize());
    std::atomic<bool> go_on{true};
    std::thread first(work, "first", &go_on);
    std::thread second(work, "second", &go_on);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    cudaStream_t stream;
    MUST(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    forever<<<1, 1, 0, stream>>>(stop, rounds.pointer);
    MUST(cudaGetLastError());
    std::puts("running");
    std::fflush(stdout);
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    go_on = false;
    first.join();
    second.join();
    *const_cast<volatile unsigned*>(stop) = 1;
    MUST(cudaStreamSynchronize(stream));
    program::must(rounds.read()[0] > 0, "the kernel ran");
    return program::done("persistent");
}
