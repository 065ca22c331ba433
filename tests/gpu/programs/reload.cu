// SPDX-License-Identifier: Apache-2.0
// A library is loaded, launched and unloaded ROUNDS times (argument) while another thread launches: nothing is kept, on
// the host or on the device. Prints on stderr "kept device BYTES" and "kept host BYTES".
#include <cuda.h>

#include <atomic>
#include <thread>

#include "program.cuh"

static const char* const kText = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .entry loaded(.param .u64 values, .param .u32 by) {
    .reg .b64 %rd<4>;
    .reg .b32 %r<4>;
    ld.param.u64 %rd1, [values];
    ld.param.u32 %r1, [by];
    cvta.to.global.u64 %rd1, %rd1;
    mov.u32 %r2, %tid.x;
    mul.wide.u32 %rd2, %r2, 4;
    add.s64 %rd3, %rd1, %rd2;
    ld.global.u32 %r3, [%rd3];
    add.u32 %r3, %r3, %r1;
    st.global.u32 [%rd3], %r3;
    ret;
}
)";

__global__ void beside(unsigned* values) {
    values[threadIdx.x] += 1;
}

static void must_driver(CUresult result, const char* call) {
    if (result != CUDA_SUCCESS) {
        const char* name = "?";
        cuGetErrorName(result, &name);
        program::fail(call, name);
    }
}
#define MUST_DRIVER(call) must_driver((call), #call)

static long long resident_bytes() {
    std::FILE* const file = std::fopen("/proc/self/statm", "r");
    long long all = 0, resident = 0;
    program::must(file != nullptr && std::fscanf(file, "%lld %lld", &all, &resident) == 2, "/proc/self/statm");
    std::fclose(file);
    return resident * sysconf(_SC_PAGESIZE);
}
static long long device_bytes() {
    size_t available = 0, all = 0;
    MUST(cudaMemGetInfo(&available, &all));
    return static_cast<long long>(all - available);
}

static void keep_launching(std::atomic<bool>* go_on, CUcontext context) {
    MUST_DRIVER(cuCtxSetCurrent(context));
    program::Array<unsigned> values(64);
    unsigned launches = 0;
    while (go_on->load()) {
        beside<<<1, 64, 0, cudaStreamPerThread>>>(values.pointer);
        MUST(cudaStreamSynchronize(cudaStreamPerThread));
        ++launches;
    }
    for (const unsigned one : values.read()) program::must(one == launches, "the thread beside");
}

int main(int count, char** words) {
    program::limit(300);
    const int rounds = count > 1 ? std::atoi(words[1]) : 100;
    program::Array<unsigned> values(64);
    CUcontext context = nullptr;
    MUST_DRIVER(cuCtxGetCurrent(&context));
    std::atomic<bool> go_on{true};
    std::thread other(keep_launching, &go_on, context);
    long long device = 0, host = 0;
    unsigned wanted = 0;
    for (int round = 0; round < rounds; ++round) {
        CUlibrary library = nullptr;
        CUkernel kernel = nullptr;
        MUST_DRIVER(cuLibraryLoadData(&library, kText, nullptr, nullptr, 0, nullptr, nullptr, 0));
        MUST_DRIVER(cuLibraryGetKernel(&kernel, library, "loaded"));
        unsigned by = static_cast<unsigned>(round);
        void* arguments[] = {&values.pointer, &by};
        MUST_DRIVER(cuLaunchKernel(reinterpret_cast<CUfunction>(kernel), 1, 1, 1, 64, 1, 1, 0, nullptr, arguments, nullptr));
        MUST(cudaDeviceSynchronize());
        MUST_DRIVER(cuLibraryUnload(library));
        wanted += by;
        if (round == rounds / 2) {
            device = device_bytes();
            host = resident_bytes();
        }
    }
    go_on = false;
    other.join();
    for (const unsigned one : values.read()) program::must(one == wanted, "an element");
    std::fprintf(stderr, "kept device %lld\nkept host %lld\n", device_bytes() - device, resident_bytes() - host);
    return program::done("reload");
}
