// SPDX-License-Identifier: Apache-2.0
// Built with machine code from compute_90 and PTX of compute_80, which are different programs: a copy made from the PTX
// would compute something else.
#include "program.cuh"

__global__ void which(int* out) {
#if __CUDA_ARCH__ >= 900
    __shared__ int numbers[4096];
    for (int i = threadIdx.x; i < 4096; i += blockDim.x) numbers[i] = i;
    __syncthreads();
    out[threadIdx.x] = numbers[4095 - threadIdx.x];
#else
    out[threadIdx.x] = -1;
#endif
}

int main() {
    program::limit(60);
    program::Array<int> out(128);
    for (int launch = 0; launch < 3; ++launch) which<<<1, 128>>>(out.pointer);
    MUST(cudaDeviceSynchronize());
    const std::vector<int> seen = out.read();
    for (int i = 0; i < 128; ++i) program::must(seen[i] == 4095 - i, "an element (the PTX of compute_80 gives -1)");
    return program::done("two_gencodes");
}
