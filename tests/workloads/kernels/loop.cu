// SPDX-License-Identifier: Apache-2.0
// A short kernel to be launched again and again.
#include "device.h"

// One load and one store a thread.
__global__ void loop_step(unsigned* values, unsigned n) {
    const unsigned i = GLOBAL_INDEX;
    if (i < n) {
        values[i] += 1;
    }
}
