// SPDX-License-Identifier: Apache-2.0
// The host changes __constant__ memory between launches, with and without a stream: each launch sees its own values.
#include "program.cuh"

__constant__ float table[64];

__global__ void polynomial(const float* in, float* out, unsigned n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float sum = 0;
#pragma unroll
        for (int k = 0; k < 64; ++k) sum = sum * in[i] + table[k];
        out[i] = sum;
    }
}

int main() {
    program::limit(60);
    constexpr unsigned n = 4096;
    constexpr unsigned launches = 20;
    std::vector<float> in(n, 1.0f);
    program::Array<float> device_in(n), device_out(n);
    device_in.write(in);
    cudaStream_t stream;
    MUST(cudaStreamCreate(&stream));
    for (unsigned launch = 0; launch < launches; ++launch) {
        float values[64];
        float sum = 0;
        for (unsigned k = 0; k < 64; ++k) {
            values[k] = static_cast<float>((launch * 31 + k) % 17);
            sum += values[k];
        }
        if (launch % 2 == 0) {
            MUST(cudaMemcpyToSymbol(table, values, sizeof values));
        } else {
            MUST(cudaMemcpyToSymbolAsync(table, values, sizeof values, 0, cudaMemcpyHostToDevice, stream));
        }
        polynomial<<<n / 256, 256, 0, stream>>>(device_in.pointer, device_out.pointer, n);
        MUST(cudaGetLastError());
        MUST(cudaStreamSynchronize(stream));
        const std::vector<float> out = device_out.read();
        for (unsigned i = 0; i < n; ++i) program::must(out[i] == sum, "an element");
    }
    program::expect("polynomial", "global", "store", 1ULL * n * launches);
    return program::done("constant_updated");
}
