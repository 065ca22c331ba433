// SPDX-License-Identifier: Apache-2.0
// The sum of two vectors: two loads and a store a thread.
#include "device.h"

__global__ void vector_add(const float* a, const float* b, float* sum, unsigned n) {
    const unsigned i = GLOBAL_INDEX;
    if (i < n) {
        sum[i] = a[i] + b[i];
    }
}
