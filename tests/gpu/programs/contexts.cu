// SPDX-License-Identifier: Apache-2.0
// Two contexts of a device in turn, with the same kernel in both, and at last the first one again.
#include <cuda.h>

#include "program.cuh"

__device__ unsigned total;

__global__ void add_up(unsigned* values, unsigned by) {
    values[threadIdx.x] += by;
    if (threadIdx.x == 0) total += by;
}

static void must_driver(CUresult result, const char* call) {
    program::must(result == CUDA_SUCCESS, call);
}
#define MUST_DRIVER(call) must_driver((call), #call)

int main() {
    program::limit(60);
    MUST(cudaFree(nullptr));
    CUcontext contexts[2] = {};
    MUST_DRIVER(cuCtxGetCurrent(&contexts[0]));
    CUdevice device = 0;
    MUST_DRIVER(cuDeviceGet(&device, 0));
#if CUDA_VERSION >= 13000
    MUST_DRIVER(cuCtxCreate(&contexts[1], nullptr, 0, device));
#else
    MUST_DRIVER(cuCtxCreate(&contexts[1], 0, device));
#endif
    unsigned* values[2] = {};
    unsigned wanted[2] = {};
    for (int round = 0; round < 20; ++round) {
        const int which = round % 2;
        MUST_DRIVER(cuCtxSetCurrent(contexts[which]));
        if (values[which] == nullptr) {
            MUST(cudaMalloc(&values[which], 64 * sizeof(unsigned)));
            MUST(cudaMemset(values[which], 0, 64 * sizeof(unsigned)));
        }
        add_up<<<1, 64>>>(values[which], round);
        MUST(cudaDeviceSynchronize());
        wanted[which] += round;
    }
    for (int which = 0; which < 2; ++which) {
        MUST_DRIVER(cuCtxSetCurrent(contexts[which]));
        unsigned host[64];
        MUST(cudaMemcpy(host, values[which], sizeof host, cudaMemcpyDeviceToHost));
        for (const unsigned one : host) program::must(one == wanted[which], "a context's values");
        unsigned sum = 0;
        MUST(cudaMemcpyFromSymbol(&sum, total, sizeof sum));
        program::must(sum == wanted[which], "a context's own variable");
    }
    MUST_DRIVER(cuCtxDestroy(contexts[1]));
    MUST_DRIVER(cuCtxSetCurrent(contexts[0]));
    add_up<<<1, 64>>>(values[0], 1);
    MUST(cudaDeviceSynchronize());
    program::expect("add_up", "global", "load", 21ULL * 64 + 21);
    return program::done("contexts");
}
