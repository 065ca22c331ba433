// SPDX-License-Identifier: Apache-2.0
// More of the runtime: two kernels and a template, __constant__, __device__ and
// __managed__ variables, a stream with events, dynamic
// shared memory, a launch with attributes, occupancy, device properties, an error that is meant to come.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

__constant__ int factors[4];
__device__ unsigned total;
__managed__ unsigned blocks_done = 100;

__global__ void scale(int* values, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        values[i] *= factors[i % 4];
    }
}

template <typename T>
__global__ void add_up(const T* values, int n) {
    extern __shared__ unsigned of_block[];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    of_block[threadIdx.x] = i < n ? static_cast<unsigned>(values[i]) : 0;
    __syncthreads();
    for (int step = blockDim.x / 2; step > 0; step /= 2) {
        if (threadIdx.x < step) {
            of_block[threadIdx.x] += of_block[threadIdx.x + step];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        atomicAdd(&total, of_block[0]);
        atomicAdd(&blocks_done, 1u);
    }
}

static void check(bool ok, const char* what) {
    if (!ok) {
        std::fprintf(stderr, "two_kernels: %s (%s)\n", what, cudaGetErrorString(cudaPeekAtLastError()));
        std::exit(1);
    }
}

#define CHECK(call) check((call) == cudaSuccess, #call)

static void check_device() {
    cudaDeviceProp properties;
    CHECK(cudaGetDeviceProperties(&properties, 0));
    check(properties.warpSize == 32 && properties.maxThreadsPerBlock == 1024, "properties");
    int major = 0;
    CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
    check(major == properties.major, "attribute and property agree");
    int blocks = 0;
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, scale, 256, 0));
    check(blocks > 0, "occupancy");
    cudaFuncAttributes attributes;
    CHECK(cudaFuncGetAttributes(&attributes, scale));
    check(attributes.maxThreadsPerBlock > 0 && attributes.maxThreadsPerBlock <= 1024, "function attributes");
}

static void check_error() {
    scale<<<1, 2048>>>(nullptr, 0);
    const cudaError_t error = cudaGetLastError();
    check(error == cudaErrorInvalidValue, cudaGetErrorName(error));
    check(cudaGetLastError() == cudaSuccess, "an error is given once");
    check(std::strcmp(cudaGetErrorName(cudaErrorInvalidValue), "cudaErrorInvalidValue") == 0, "error name");
}

int main() {
    constexpr int n = 4096;
    static int host[n];
    const int by[4] = {1, 2, 3, 4};
    unsigned wanted = 0;
    for (int i = 0; i < n; ++i) {
        host[i] = i;
        wanted += static_cast<unsigned>(i * by[i % 4]);
    }
    check_device();
    CHECK(cudaMemcpyToSymbol(factors, by, sizeof by));
    int* values = nullptr;
    CHECK(cudaMalloc(&values, sizeof host));
    cudaStream_t stream;
    cudaEvent_t begin, end;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    CHECK(cudaMemcpyAsync(values, host, sizeof host, cudaMemcpyHostToDevice, stream));
    CHECK(cudaEventRecord(begin, stream));
    scale<<<n / 256, 256, 0, stream>>>(values, n);
    cudaLaunchConfig_t config{};
    config.gridDim = n / 256;
    config.blockDim = 256;
    config.dynamicSmemBytes = 256 * sizeof(unsigned);
    config.stream = stream;
    CHECK(cudaLaunchKernelEx(&config, add_up<int>, static_cast<const int*>(values), n));
    CHECK(cudaEventRecord(end, stream));
    CHECK(cudaStreamSynchronize(stream));
    float milliseconds = -1;
    CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
    check(milliseconds >= 0, "elapsed time");
    unsigned result = 0;
    CHECK(cudaMemcpyFromSymbol(&result, total, sizeof result));
    check(result == wanted, "sum");
    check(blocks_done == 100 + n / 256, "managed variable");
    check_error();
    CHECK(cudaEventDestroy(begin));
    CHECK(cudaEventDestroy(end));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(values));
    std::puts("two_kernels: result ok");
    return 0;
}
