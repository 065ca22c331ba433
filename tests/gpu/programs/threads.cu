// SPDX-License-Identifier: Apache-2.0
// Eight threads launch for SECONDS (argument), each kernel its own count, while probes come and go. Prints on stderr how
// many launches each kernel had: "launches KERNEL N".
#include <thread>

#include "program.cuh"

template <int kThread>
__global__ void count_up(unsigned* values) {
    values[threadIdx.x] += kThread + 1;
}

template <int kThread>
static void work(double end, unsigned long long* launches) {
    program::Stalls stalls("thread" + std::to_string(kThread));
    cudaStream_t stream;
    MUST(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    unsigned* values = nullptr;
    MUST(cudaMalloc(&values, 128 * sizeof(unsigned)));
    MUST(cudaMemsetAsync(values, 0, 128 * sizeof(unsigned), stream));
    while (program::milliseconds_now() < end) {
        for (int i = 0; i < 20; ++i) {
            MUST(stalls.time("launch", [&] {
                count_up<kThread><<<1, 128, 0, stream>>>(values);
                return cudaGetLastError();
            }));
            ++*launches;
        }
        MUST(stalls.time("synchronize", [&] { return cudaStreamSynchronize(stream); }));
    }
    unsigned host[128];
    MUST(cudaMemcpyAsync(host, values, sizeof host, cudaMemcpyDeviceToHost, stream));
    MUST(cudaStreamSynchronize(stream));
    for (const unsigned one : host) {
        program::must(one == static_cast<unsigned>(*launches * (kThread + 1)), "a thread's count");
    }
    stalls.print();
}

int main(int count, char** words) {
    const double seconds = count > 1 ? std::atof(words[1]) : 2;
    program::limit(static_cast<unsigned>(seconds) + 60);
    MUST(cudaFree(nullptr));
    std::puts("running");
    std::fflush(stdout);
    const double end = program::milliseconds_now() + seconds * 1000;
    unsigned long long launches[8] = {};
    std::thread threads[] = {std::thread(work<0>, end, &launches[0]), std::thread(work<1>, end, &launches[1]),
                             std::thread(work<2>, end, &launches[2]), std::thread(work<3>, end, &launches[3]),
                             std::thread(work<4>, end, &launches[4]), std::thread(work<5>, end, &launches[5]),
                             std::thread(work<6>, end, &launches[6]), std::thread(work<7>, end, &launches[7])};
    for (std::thread& one : threads) one.join();
    for (int i = 0; i < 8; ++i) std::fprintf(stderr, "launches count_up<%d> %llu\n", i, launches[i]);
    return program::done("threads");
}
