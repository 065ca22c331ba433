// SPDX-License-Identifier: Apache-2.0
// A static variable in a device function, shared by a kernel with probes and one without.
#include "program.cuh"

__device__ unsigned ticket() {
    static unsigned next = 100;
    return atomicAdd(&next, 1);
}

__global__ void take(unsigned* out) {
    out[threadIdx.x] = ticket();
}
__global__ void take_too(unsigned* out) {
    out[threadIdx.x] = ticket();
}

int main() {
    program::limit(60);
    program::Array<unsigned> out(256);
    std::vector<bool> seen(256 * 8 + 100);
    for (int round = 0; round < 8; ++round) {
        if (round % 2 == 0) {
            take<<<1, 256>>>(out.pointer);
        } else {
            take_too<<<1, 256>>>(out.pointer);
        }
        for (const unsigned one : out.read()) {
            program::must(one >= 100 && one < seen.size() && !seen[one], "each ticket is given once");
            seen[one] = true;
        }
    }
    program::expect("take", "global", "store", 4ULL * 256);
    program::expect("take", "global", "atomic", 4ULL * 256);
    return program::done("function_static");
}
