// SPDX-License-Identifier: Apache-2.0
// A persistent kernel with a hand-made barrier over all blocks: it ends only if as many blocks run at once as the
// occupancy query says of the original.
#include "program.cuh"

__device__ void wait_for_all(unsigned* arrived, unsigned round) {
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(arrived, 1);
        while (*const_cast<volatile unsigned*>(arrived) < (round + 1) * gridDim.x) {
        }
        __threadfence();
    }
    __syncthreads();
}

__global__ void persistent(unsigned* values, unsigned* other, unsigned* arrived, unsigned rounds) {
    const unsigned n = gridDim.x * blockDim.x;
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    for (unsigned round = 0; round < rounds; ++round) {
        other[i] = *const_cast<volatile unsigned*>(&values[(i + 1) % n]);
        wait_for_all(arrived, 2 * round);
        values[i] = other[i];
        wait_for_all(arrived, 2 * round + 1);
    }
}

int main() {
    program::limit(30);
    constexpr unsigned block = 512;
    constexpr unsigned rounds = 6;
    int resident = 0;
    MUST(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, persistent, block, 0));
    const unsigned blocks = static_cast<unsigned>(resident * program::multiprocessors());
    const unsigned n = blocks * block;
    std::vector<unsigned> start(n);
    for (unsigned i = 0; i < n; ++i) start[i] = i;
    program::Array<unsigned> values(n), other(n), arrived(1);
    values.write(start);
    for (unsigned launch = 0; launch < 3; ++launch) {
        MUST(cudaMemset(arrived.pointer, 0, sizeof(unsigned)));
        persistent<<<blocks, block>>>(values.pointer, other.pointer, arrived.pointer, rounds);
        MUST(cudaDeviceSynchronize());
    }
    const std::vector<unsigned> out = values.read();
    for (unsigned i = 0; i < n; ++i) program::must(out[i] == (i + 3 * rounds) % n, "an element");
    return program::done("grid_barrier");
}
