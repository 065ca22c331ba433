// SPDX-License-Identifier: Apache-2.0
// The dynamic shared memory of a kernel is raised to 200 KB after its first launches, so after its copy exists.
#include "program.cuh"

__global__ void turn_round(const unsigned* in, unsigned* out, unsigned n) {
    extern __shared__ unsigned numbers[];
    for (unsigned i = threadIdx.x; i < n; i += blockDim.x) numbers[i] = in[i];
    __syncthreads();
    for (unsigned i = threadIdx.x; i < n; i += blockDim.x) out[i] = numbers[n - 1 - i];
}

static void run(unsigned n, unsigned launches) {
    std::vector<unsigned> in(n);
    for (unsigned i = 0; i < n; ++i) in[i] = i * 2654435761u;
    program::Array<unsigned> device_in(n), device_out(n);
    device_in.write(in);
    for (unsigned launch = 0; launch < launches; ++launch) {
        turn_round<<<1, 256, n * sizeof(unsigned)>>>(device_in.pointer, device_out.pointer, n);
        MUST(cudaGetLastError());
    }
    MUST(cudaDeviceSynchronize());
    const std::vector<unsigned> out = device_out.read();
    for (unsigned i = 0; i < n; ++i) program::must(out[i] == in[n - 1 - i], "an element");
}

int main() {
    program::limit(60);
    constexpr unsigned small = 1024;
    constexpr unsigned large = 200 * 1024 / sizeof(unsigned);
    run(small, 2);
    turn_round<<<1, 256, large * sizeof(unsigned)>>>(nullptr, nullptr, 0);
    program::must(cudaGetLastError() == cudaErrorInvalidValue, "200 KB before they are allowed are refused");
    MUST(cudaFuncSetAttribute(turn_round, cudaFuncAttributeMaxDynamicSharedMemorySize, large * sizeof(unsigned)));
    run(large, 3);
    cudaFuncAttributes attributes{};
    MUST(cudaFuncGetAttributes(&attributes, turn_round));
    program::must(attributes.maxDynamicSharedSizeBytes == static_cast<int>(large * sizeof(unsigned)), "attribute");
    program::expect("turn_round", "global", "load", 2ULL * small + 3ULL * large);
    program::expect("turn_round", "global", "store", 2ULL * small + 3ULL * large);
    return program::done("dynamic_shared");
}
