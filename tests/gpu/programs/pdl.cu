// SPDX-License-Identifier: Apache-2.0
// Programmatic dependent launch: the second kernel may begin before the first has ended and waits for it itself.
#include "program.cuh"

__global__ void first(unsigned* values, unsigned round) {
    asm volatile("griddepcontrol.launch_dependents;");
    values[threadIdx.x] = threadIdx.x * round;
}
__global__ void second(const unsigned* values, unsigned* out) {
    asm volatile("griddepcontrol.wait;" ::: "memory");
    out[threadIdx.x] += values[threadIdx.x];
}

int main() {
    program::limit(60);
    program::Array<unsigned> values(128), out(128);
    cudaStream_t stream;
    MUST(cudaStreamCreate(&stream));
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = 1;
    config.blockDim = 128;
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
    for (unsigned round = 1; round <= 20; ++round) {
        first<<<1, 128, 0, stream>>>(values.pointer, round);
        MUST(cudaLaunchKernelEx(&config, second, static_cast<const unsigned*>(values.pointer), out.pointer));
    }
    MUST(cudaStreamSynchronize(stream));
    for (unsigned i = 0; i < 128; ++i) program::must(out.read()[i] == 210 * i, "an element");
    program::expect("second", "global", "load", 20ULL * 2 * 128);
    return program::done("pdl");
}
