// SPDX-License-Identifier: Apache-2.0
// printf in a kernel; with the argument "assert" an assertion that fails.
#include <cassert>

#include "program.cuh"

__global__ void say(const unsigned* in, unsigned* out) {
    const unsigned value = in[threadIdx.x];
    out[threadIdx.x] = value + 1;
    if (threadIdx.x == 3) printf("thread %u of block %u has %u\n", threadIdx.x, blockIdx.x, value);
}
__global__ void insist(const unsigned* in, unsigned* out) {
    assert(in[threadIdx.x] < 30);
    out[threadIdx.x] = in[threadIdx.x];
}

int main(int count, char** words) {
    program::limit(60);
    std::vector<unsigned> numbers(32);
    for (unsigned i = 0; i < 32; ++i) numbers[i] = i;
    program::Array<unsigned> in(32), out(32);
    in.write(numbers);
    if (count > 1 && std::strcmp(words[1], "assert") == 0) {
        insist<<<1, 32>>>(in.pointer, out.pointer);
        const cudaError_t error = cudaDeviceSynchronize();
        std::printf("after the assertion: %s\n", cudaGetErrorName(error));
        return error == cudaErrorAssert ? 0 : 1;
    }
    for (int launch = 0; launch < 2; ++launch) {
        say<<<1, 32>>>(in.pointer, out.pointer);
        MUST(cudaDeviceSynchronize());
    }
    for (unsigned i = 0; i < 32; ++i) program::must(out.read()[i] == i + 1, "an element");
    program::expect("say", "global", "load", 2ULL * 32);
    return program::done("printing");
}
