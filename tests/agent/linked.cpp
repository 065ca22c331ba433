// SPDX-License-Identifier: Apache-2.0
// A program that was linked to libcuda.so.1: no lookups, the loader binds its calls.
#include <unistd.h>

#include <cstdio>

#include "gpu/device/driver.h"

int main() {
    const char text[] = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry work() { ret; }\n";
    CUcontext context = nullptr;
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    if (cuInit(0) != CUDA_SUCCESS || cuDevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS ||
        cuCtxSetCurrent(context) != CUDA_SUCCESS || cuModuleLoadData(&module, text) != CUDA_SUCCESS ||
        cuModuleGetFunction(&function, module, "work") != CUDA_SUCCESS)
        return 1;
    for (int i = 0; i < 10; ++i)
        if (cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr) != CUDA_SUCCESS)
            return 1;
    if (cuCtxSynchronize() != CUDA_SUCCESS || cuModuleUnload(module) != CUDA_SUCCESS)
        return 1;
    std::puts("ok");
    return 0;
}
