// SPDX-License-Identifier: Apache-2.0
// Naive and tiled matrix products (1024) in turn for SECONDS (argument): what a live session and its window look at.
#include <cmath>
#include <cstdlib>
#include <vector>

#include "program.cuh"

constexpr unsigned kN = 1024, kTile = 32;

__global__ void product_naive(const float* a, const float* b, float* c) {
    const unsigned row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (unsigned k = 0; k < kN; ++k) sum += a[row * kN + k] * b[k * kN + column];
    c[row * kN + column] = sum;
}

__global__ void product_tiled(const float* a, const float* b, float* c) {
    __shared__ float of_a[kTile][kTile], of_b[kTile][kTile];
    const unsigned row = blockIdx.y * kTile + threadIdx.y, column = blockIdx.x * kTile + threadIdx.x;
    float sum = 0;
    for (unsigned tile = 0; tile < kN; tile += kTile) {
        of_a[threadIdx.y][threadIdx.x] = a[row * kN + tile + threadIdx.x];
        of_b[threadIdx.y][threadIdx.x] = b[(tile + threadIdx.y) * kN + column];
        __syncthreads();
        for (unsigned k = 0; k < kTile; ++k) sum += of_a[threadIdx.y][k] * of_b[k][threadIdx.x];
        __syncthreads();
    }
    c[row * kN + column] = sum;
}

int main(int count, char** words) {
    const double seconds = count > 1 ? std::atof(words[1]) : 2;
    program::limit(static_cast<unsigned>(seconds) + 60);
    std::vector<float> host(kN * kN, 1.0f);
    float *a = nullptr, *b = nullptr, *c = nullptr;
    for (float** one : {&a, &b, &c}) MUST(cudaMalloc(one, host.size() * sizeof(float)));
    MUST(cudaMemcpy(a, host.data(), host.size() * sizeof(float), cudaMemcpyHostToDevice));
    MUST(cudaMemcpy(b, host.data(), host.size() * sizeof(float), cudaMemcpyHostToDevice));
    const dim3 block(kTile, kTile), grid(kN / kTile, kN / kTile);
    const double end = program::milliseconds_now() + seconds * 1000;
    while (program::milliseconds_now() < end) {
        for (int i = 0; i < 20; ++i) product_naive<<<grid, block>>>(a, b, c);
        for (int i = 0; i < 40; ++i) product_tiled<<<grid, block>>>(a, b, c);
        MUST(cudaDeviceSynchronize());
        MUST(cudaMemcpy(host.data(), c, host.size() * sizeof(float), cudaMemcpyDeviceToHost));
        for (const float one : host) program::must(one == static_cast<float>(kN), "a product");
    }
    return program::done("matmul_live");
}
