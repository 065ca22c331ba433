// SPDX-License-Identifier: Apache-2.0
// A polynomial of degree 63 whose coefficients lie in __constant__ memory, at 16 Mi points.
#include "bench.cuh"

__constant__ float coefficients[64];

__global__ void polynomial(const float* in, float* out, unsigned n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        const float x = in[i];
        float sum = 0;
#pragma unroll
        for (int k = 0; k < 64; ++k) sum = sum * x + coefficients[k];
        out[i] = sum;
    }
}

int main() {
    constexpr unsigned n = 1u << 24;
    std::vector<float> in(n), host(64);
    for (unsigned i = 0; i < n; ++i) in[i] = static_cast<float>(i % 3) - 1;
    for (int k = 0; k < 64; ++k) host[k] = static_cast<float>(k % 5);
    MUST(cudaMemcpyToSymbol(coefficients, host.data(), 64 * sizeof(float)));
    float* const device_in = bench::device_array(in);
    float* const device_out = bench::device_array(std::vector<float>(n));
    bench::time(100, [&] { polynomial<<<n / 256, 256>>>(device_in, device_out, n); });
    float wanted[3] = {};
    for (int which = 0; which < 3; ++which) {
        for (int k = 0; k < 64; ++k) wanted[which] = wanted[which] * static_cast<float>(which - 1) + host[k];
    }
    const std::vector<float> out = bench::host_array(device_out, n);
    for (unsigned i = 0; i < n; ++i) bench::must(out[i] == wanted[i % 3], "a value");
}
