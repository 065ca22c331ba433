// SPDX-License-Identifier: Apache-2.0
// One kernel that uses constant, local, shared and global memory.
#include "device.h"

constexpr unsigned kTable = 64;
constexpr unsigned kScratch = 8;

__constant__ unsigned table[kTable];

// A thread loads one element of global and one of constant memory, stores 8 elements of local memory and loads them
// again, stores one element of shared memory and loads its neighbour's, and stores one element of global memory.
__global__ void use_spaces(const unsigned* in, unsigned* out) {
    static __shared__ unsigned exchange[256];
    const unsigned i = GLOBAL_INDEX;
    const unsigned thread = THREAD_INDEX;
    const unsigned value = in[i] + table[i % kTable];
    unsigned scratch[kScratch];
    KEEP_LOOP
    for (unsigned k = 0; k < kScratch; ++k) {
        scratch[(i + k * 3) % kScratch] = value + k;
    }
    unsigned sum = 0;
    KEEP_LOOP
    for (unsigned k = 0; k < kScratch; ++k) {
        sum = sum * 5 + scratch[(value + k) % kScratch];
    }
    exchange[thread] = sum;
    BLOCK_BARRIER();
    out[i] = exchange[thread ^ 1];
}
