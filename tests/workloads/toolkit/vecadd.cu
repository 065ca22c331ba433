// SPDX-License-Identifier: Apache-2.0
// The sum of two vectors as people write it with the runtime; built by nvcc where there is one.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void vector_add(const float* a, const float* b, float* sum, unsigned n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        sum[i] = a[i] + b[i];
    }
}

static void check(cudaError_t error, const char* call) {
    if (error != cudaSuccess) {
        std::fprintf(stderr, "vecadd: %s: %s\n", call, cudaGetErrorString(error));
        std::exit(1);
    }
}

int main(int count, char** words) {
    const unsigned n = count > 1 ? static_cast<unsigned>(std::atoi(words[1])) : 10000;
    std::vector<float> a(n);
    std::vector<float> b(n);
    std::vector<float> sum(n);
    for (unsigned i = 0; i < n; ++i) {
        a[i] = static_cast<float>(i);
        b[i] = 0.5f * static_cast<float>(i % 100);
    }
    const size_t bytes = n * sizeof(float);
    float* device[3] = {};
    for (float*& pointer : device) {
        check(cudaMalloc(&pointer, bytes), "cudaMalloc");
    }
    check(cudaMemcpy(device[0], a.data(), bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
    check(cudaMemcpy(device[1], b.data(), bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
    vector_add<<<(n + 255) / 256, 256>>>(device[0], device[1], device[2], n);
    check(cudaGetLastError(), "launch");
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    check(cudaMemcpy(sum.data(), device[2], bytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
    for (unsigned i = 0; i < n; ++i) {
        if (sum[i] != a[i] + b[i]) {
            std::fprintf(stderr, "vecadd: element %u is wrong\n", i);
            return 1;
        }
    }
    for (float* pointer : device) {
        check(cudaFree(pointer), "cudaFree");
    }
    std::puts("vecadd: result ok");
    return 0;
}
