// SPDX-License-Identifier: Apache-2.0
// Each lane of a warp goes round a loop another number of times and leaves by one of two branches.
#include "device.h"

// Thread i loads i % 32 elements and stores one.
__global__ void divergent(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned i = GLOBAL_INDEX;
    if (i >= n) {
        return;
    }
    const unsigned rounds = i % 32;
    unsigned sum = 0;
    KEEP_LOOP
    for (unsigned round = 0; round < rounds; ++round) {
        sum += in[(i + round * 97) % n];
    }
    if (i % 2 == 0) {
        out[i] = sum;
    } else {
        out[n + i] = sum * 3;
    }
}
