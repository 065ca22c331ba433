// SPDX-License-Identifier: Apache-2.0
// A sum by blocks of 256 threads: shuffles within a warp, shared memory between warps.
#include "device.h"

constexpr unsigned kWarps = 8;

static __device__ unsigned sum_of_warp(unsigned value) {
    value += SHUFFLE_DOWN(value, 16);
    value += SHUFFLE_DOWN(value, 8);
    value += SHUFFLE_DOWN(value, 4);
    value += SHUFFLE_DOWN(value, 2);
    value += SHUFFLE_DOWN(value, 1);
    return value;
}

// One load of global memory for each of n elements; 8 stores and 8 loads of shared memory and one store of global
// memory a block.
__global__ void reduce_blocks(const unsigned* in, unsigned* sums, unsigned n) {
    static __shared__ unsigned of_warps[kWarps];
    const unsigned i = GLOBAL_INDEX;
    const unsigned thread = THREAD_INDEX;
    unsigned value = 0;
    if (i < n) {
        value = in[i];
    }
    value = sum_of_warp(value);
    if (thread % 32 == 0) {
        of_warps[thread / 32] = value;
    }
    BLOCK_BARRIER();
    if (thread < 32) {
        unsigned partial = 0;
        if (thread < kWarps) {
            partial = of_warps[thread];
        }
        partial = sum_of_warp(partial);
        if (thread == 0) {
            sums[BLOCK_INDEX] = partial;
        }
    }
}
