// SPDX-License-Identifier: Apache-2.0
// The same numbers read in two orders. Sequential: neighbouring threads read neighbouring elements.
#include "device.h"
__global__ void gather_sequential(const float* in, float* out, unsigned n) {
    const unsigned i = GLOBAL_INDEX;
    if (i < n) {
        out[i] = in[i];
    }
}
// Strided: the lanes of a warp read elements n / 32 apart, each its own 32-byte sector.
__global__ void gather_strided(const float* in, float* out, unsigned n) {
    const unsigned i = GLOBAL_INDEX;
    if (i < n) {
        out[i] = in[(i % 32) * (n / 32) + i / 32];
    }
}
