// SPDX-License-Identifier: Apache-2.0
// 1,024 threads a block with as many registers as that leaves (64): no room for a probe's own.
#include "program.cuh"

constexpr int kValues = 48;

__global__ void __launch_bounds__(1024, 1) tight(const float* in, float* out, int rounds) {
    const int thread = blockIdx.x * blockDim.x + threadIdx.x;
    const int threads = gridDim.x * blockDim.x;
    float values[kValues];
#pragma unroll
    for (int i = 0; i < kValues; ++i) {
        values[i] = in[i * threads + thread];
    }
    for (int round = 0; round < rounds; ++round) {
#pragma unroll
        for (int i = 0; i < kValues; ++i) {
            values[i] = values[i] * 0.5f + values[(i + 7) % kValues];
        }
    }
#pragma unroll
    for (int i = 0; i < kValues; ++i) {
        out[i * threads + thread] = values[i];
    }
}

int main() {
    program::limit(60);
    constexpr int threads = 2048;
    constexpr int rounds = 5;
    constexpr int launches = 3;
    std::vector<float> in(kValues * threads);
    for (size_t i = 0; i < in.size(); ++i) {
        in[i] = static_cast<float>((i * 7919) % 64);
    }
    program::Array<float> device_in(in.size()), device_out(in.size());
    device_in.write(in);
    for (int launch = 0; launch < launches; ++launch) {
        tight<<<threads / 1024, 1024>>>(device_in.pointer, device_out.pointer, rounds);
        MUST(cudaGetLastError());
    }
    MUST(cudaDeviceSynchronize());
    const std::vector<float> out = device_out.read();
    for (int thread = 0; thread < threads; ++thread) {
        float values[kValues];
        for (int i = 0; i < kValues; ++i) values[i] = in[i * threads + thread];
        for (int round = 0; round < rounds; ++round) {
            // Multiples of powers of two, small: exact with and without a fused multiply-add.
            for (int i = 0; i < kValues; ++i) values[i] = values[i] * 0.5f + values[(i + 7) % kValues];
        }
        for (int i = 0; i < kValues; ++i) program::must(out[i * threads + thread] == values[i], "a value");
    }
    const unsigned long long count = 1ULL * kValues * threads * launches;
    program::expect("tight", "global", "load", count);
    program::expect("tight", "global", "store", count);
    return program::done("tight_registers");
}
