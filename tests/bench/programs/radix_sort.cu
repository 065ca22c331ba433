// SPDX-License-Identifier: Apache-2.0
// CUB's radix sort of 4 Mi keys with values.
#include <cub/device/device_radix_sort.cuh>

#include "bench.cuh"

int main() {
    constexpr unsigned n = 1u << 22;
    std::vector<unsigned> keys(n), values(n);
    unsigned state = 12345;
    for (unsigned i = 0; i < n; ++i) {
        state = state * 1664525u + 1013904223u;
        keys[i] = state;
        values[i] = i;
    }
    const unsigned* const keys_in = bench::device_array(keys);
    const unsigned* const values_in = bench::device_array(values);
    unsigned* const keys_out = bench::device_array(std::vector<unsigned>(n));
    unsigned* const values_out = bench::device_array(std::vector<unsigned>(n));
    size_t bytes = 0;
    MUST(cub::DeviceRadixSort::SortPairs(nullptr, bytes, keys_in, keys_out, values_in, values_out, n));
    void* workspace = nullptr;
    MUST(cudaMalloc(&workspace, bytes));
    bench::time(50, [&] {
        MUST(cub::DeviceRadixSort::SortPairs(workspace, bytes, keys_in, keys_out, values_in, values_out, n));
    });
    const std::vector<unsigned> sorted = bench::host_array(keys_out, n);
    const std::vector<unsigned> order = bench::host_array(values_out, n);
    for (unsigned i = 0; i < n; ++i) {
        bench::must(keys[order[i]] == sorted[i] && (i == 0 || sorted[i - 1] <= sorted[i]), "the order");
    }
}
