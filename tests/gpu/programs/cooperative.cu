// SPDX-License-Identifier: Apache-2.0
// A cooperative launch that fills the device, with grid-wide barriers.
#include <cooperative_groups.h>

#include "program.cuh"

__global__ void shift(unsigned* values, unsigned* other, unsigned rounds) {
    const cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    const unsigned n = gridDim.x * blockDim.x;
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    for (unsigned round = 0; round < rounds; ++round) {
        other[i] = values[(i + 1) % n];
        grid.sync();
        values[i] = other[i];
        grid.sync();
    }
}

int main() {
    program::limit(60);
    constexpr unsigned block = 256;
    constexpr unsigned rounds = 8;
    int resident = 0;
    MUST(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, shift, block, 0));
    const unsigned blocks = static_cast<unsigned>(resident * program::multiprocessors());
    const unsigned n = blocks * block;
    std::vector<unsigned> start(n);
    for (unsigned i = 0; i < n; ++i) start[i] = i;
    program::Array<unsigned> values(n), other(n);
    values.write(start);
    unsigned argument = rounds;
    void* arguments[] = {&values.pointer, &other.pointer, &argument};
    for (unsigned launch = 0; launch < 2; ++launch) {
        MUST(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(shift), blocks, block, arguments, 0, nullptr));
    }
    MUST(cudaDeviceSynchronize());
    const std::vector<unsigned> out = values.read();
    for (unsigned i = 0; i < n; ++i) program::must(out[i] == (i + 2 * rounds) % n, "an element");
    return program::done("cooperative");
}
