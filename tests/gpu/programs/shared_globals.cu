// SPDX-License-Identifier: Apache-2.0
// __device__ variables, plain and static, written by a kernel without probes and read and changed by one with them.
#include "program.cuh"

__device__ unsigned values[1024];
static __device__ unsigned long long total;
__device__ unsigned* where;

__global__ void produce(unsigned round) {
    values[threadIdx.x] = threadIdx.x * round;
    if (threadIdx.x == 0) where = values;
}
__global__ void consume(unsigned* out) {
    const unsigned value = where[threadIdx.x];
    out[threadIdx.x] = value;
    atomicAdd(&total, static_cast<unsigned long long>(value));
    values[threadIdx.x] = 0;
}

int main() {
    program::limit(60);
    program::Array<unsigned> out(1024);
    unsigned long long wanted = 0;
    for (unsigned round = 1; round <= 5; ++round) {
        produce<<<1, 1024>>>(round);
        consume<<<1, 1024>>>(out.pointer);
        const std::vector<unsigned> seen = out.read();
        for (unsigned i = 0; i < 1024; ++i) {
            program::must(seen[i] == i * round, "an element");
            wanted += i * round;
        }
    }
    unsigned long long sum = 0;
    MUST(cudaMemcpyFromSymbol(&sum, total, sizeof sum));
    program::must(sum == wanted, "the host's view of a static variable");
    static unsigned left[1024];
    MUST(cudaMemcpyFromSymbol(left, values, sizeof left));
    for (const unsigned one : left) program::must(one == 0, "what the probed kernel stored");
    program::expect("consume", "global", "store", 5ULL * 2 * 1024);
    return program::done("shared_globals");
}
