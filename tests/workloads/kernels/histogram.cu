// SPDX-License-Identifier: Apache-2.0
// A histogram of 64 bins: atomics on shared memory for each element, on global memory for each bin of a block.
#include "device.h"

constexpr unsigned kBins = 64;

// A load of global memory and an atomic on shared memory for each of n elements; 64 stores and 64 loads of shared
// memory and 64 atomics on global memory a block.
__global__ void histogram(const unsigned* in, unsigned* bins, unsigned n) {
    static __shared__ unsigned of_block[kBins];
    const unsigned i = GLOBAL_INDEX;
    const unsigned thread = THREAD_INDEX;
    if (thread < kBins) {
        of_block[thread] = 0;
    }
    BLOCK_BARRIER();
    if (i < n) {
        ATOMIC_ADD(&of_block[in[i] % kBins], 1U);
    }
    BLOCK_BARRIER();
    if (thread < kBins) {
        ATOMIC_ADD(&bins[thread], of_block[thread]);
    }
}
