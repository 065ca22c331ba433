// SPDX-License-Identifier: Apache-2.0
// malloc in one kernel, free in another, either of them with probes; more rounds than the heap could take without free.
#include "program.cuh"

__global__ void take(unsigned** pointers, unsigned bytes) {
    const unsigned i = threadIdx.x;
    pointers[i] = static_cast<unsigned*>(malloc(bytes));
    if (pointers[i] != nullptr) *pointers[i] = i;
}
__global__ void give(unsigned** pointers, unsigned* out) {
    const unsigned i = threadIdx.x;
    out[i] = pointers[i] == nullptr ? 0xffffffffu : *pointers[i];
    free(pointers[i]);
}

int main() {
    program::limit(60);
    constexpr unsigned n = 64;
    program::Array<unsigned*> pointers(n);
    program::Array<unsigned> out(n);
    for (int round = 0; round < 200; ++round) {
        take<<<1, n>>>(pointers.pointer, 2048);
        give<<<1, n>>>(pointers.pointer, out.pointer);
        const std::vector<unsigned> seen = out.read();
        for (unsigned i = 0; i < n; ++i) program::must(seen[i] == i, "what was stored behind a pointer");
    }
    return program::done("device_heap");
}
