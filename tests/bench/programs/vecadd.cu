// SPDX-License-Identifier: Apache-2.0
// The sum of two vectors of 16 Mi floats.
#include "bench.cuh"

__global__ void vector_add(const float* a, const float* b, float* sum, unsigned n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) sum[i] = a[i] + b[i];
}

int main() {
    constexpr unsigned n = 1u << 24;
    std::vector<float> a(n), b(n);
    for (unsigned i = 0; i < n; ++i) {
        a[i] = static_cast<float>(i % 1000);
        b[i] = static_cast<float>(i % 77) * 0.25f;
    }
    float* const device_a = bench::device_array(a);
    float* const device_b = bench::device_array(b);
    float* const device_sum = bench::device_array(std::vector<float>(n));
    bench::time(100, [&] { vector_add<<<n / 256, 256>>>(device_a, device_b, device_sum, n); });
    const std::vector<float> sum = bench::host_array(device_sum, n);
    for (unsigned i = 0; i < n; ++i) bench::must(sum[i] == a[i] + b[i], "an element");
}
