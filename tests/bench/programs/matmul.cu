// SPDX-License-Identifier: Apache-2.0
// The product of two matrices of 1024 x 1024 floats: naive, or by tiles in shared memory (argument "tiled").
#include <cstring>

#include "bench.cuh"

constexpr int kSize = 1024;
constexpr int kTile = 32;

__global__ void multiply_naive(const float* a, const float* b, float* product) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < kSize; ++k) sum += a[row * kSize + k] * b[k * kSize + column];
    product[row * kSize + column] = sum;
}

__global__ void multiply_tiled(const float* a, const float* b, float* product) {
    __shared__ float tile_a[kTile][kTile];
    __shared__ float tile_b[kTile][kTile];
    const int row = blockIdx.y * kTile + threadIdx.y;
    const int column = blockIdx.x * kTile + threadIdx.x;
    float sum = 0;
    for (int first = 0; first < kSize; first += kTile) {
        tile_a[threadIdx.y][threadIdx.x] = a[row * kSize + first + threadIdx.x];
        tile_b[threadIdx.y][threadIdx.x] = b[(first + threadIdx.y) * kSize + column];
        __syncthreads();
        for (int k = 0; k < kTile; ++k) sum += tile_a[threadIdx.y][k] * tile_b[k][threadIdx.x];
        __syncthreads();
    }
    product[row * kSize + column] = sum;
}

int main(int count, char** words) {
    const bool tiled = count > 1 && std::strcmp(words[1], "tiled") == 0;
    std::vector<float> a(kSize * kSize), b(kSize * kSize);
    for (int i = 0; i < kSize * kSize; ++i) {
        a[i] = static_cast<float>(i * 7 % 5);
        b[i] = static_cast<float>(i * 3 % 7);
    }
    float* const device_a = bench::device_array(a);
    float* const device_b = bench::device_array(b);
    float* const device_product = bench::device_array(std::vector<float>(a.size()));
    const dim3 grid(kSize / kTile, kSize / kTile), block(kTile, kTile);
    bench::time(50, [&] {
        if (tiled) {
            multiply_tiled<<<grid, block>>>(device_a, device_b, device_product);
        } else {
            multiply_naive<<<grid, block>>>(device_a, device_b, device_product);
        }
    });
    const std::vector<float> product = bench::host_array(device_product, a.size());
    for (int row = 0; row < kSize; row += 37) {
        for (int column = 0; column < kSize; column += 41) {
            float sum = 0;  // of small whole numbers: exact
            for (int k = 0; k < kSize; ++k) sum += a[row * kSize + k] * b[k * kSize + column];
            bench::must(product[row * kSize + column] == sum, "an element of the product");
        }
    }
}
