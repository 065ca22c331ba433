// SPDX-License-Identifier: Apache-2.0
// A libcuda.so.1 whose linker answers as EGPU_MOCK_LINK says: ok, needs-context, error, crash, hang. Its "cubin" is the
// list of options that it was given, then the text.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "gpu/device/driver.h"

namespace {

struct Link {
    std::string cubin;
    char* info = nullptr;
    char* errors = nullptr;
};

bool has_context = false;

bool told(const char* what) {
    const char* mode = std::getenv("EGPU_MOCK_LINK");
    return mode != nullptr && std::strcmp(mode, what) == 0;
}

}  // namespace

extern "C" {

CUresult cuInit(unsigned int) {
    return told("no-device") ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS;
}
CUresult cuDriverGetVersion(int* version) {
    *version = 12080;
    return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice* device, int ordinal) {
    *device = ordinal;
    return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice) {
    *context = reinterpret_cast<CUcontext>(&has_context);
    return CUDA_SUCCESS;
}
CUresult cuCtxSetCurrent(CUcontext context) {
    has_context = context != nullptr;
    return CUDA_SUCCESS;
}
CUresult cuGetErrorName(CUresult result, const char** name) {
    *name = result == CUDA_ERROR_INVALID_PTX ? "CUDA_ERROR_INVALID_PTX"
            : result == CUDA_ERROR_NO_DEVICE ? "CUDA_ERROR_NO_DEVICE"
                                             : nullptr;
    return *name != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuLinkCreate_v2(unsigned int count, CUjit_option* options, void** values, CUlinkState* state) {
    if (told("needs-context") && !has_context)
        return CUDA_ERROR_INVALID_CONTEXT;
    auto* link = new Link;
    for (unsigned i = 0; i < count; ++i) {
        if (options[i] == CU_JIT_INFO_LOG_BUFFER)
            link->info = static_cast<char*>(values[i]);
        else if (options[i] == CU_JIT_ERROR_LOG_BUFFER)
            link->errors = static_cast<char*>(values[i]);
        else if (options[i] != CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES && options[i] != CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
            link->cubin +=
                std::to_string(options[i]) + "=" + std::to_string(reinterpret_cast<std::size_t>(values[i])) + " ";
    }
    link->cubin += std::getenv("CUDA_CACHE_DISABLE") != nullptr ? "uncached\n" : "\n";
    *state = reinterpret_cast<CUlinkState>(link);
    return CUDA_SUCCESS;
}
CUresult cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void* data, size_t size, const char*, unsigned int,
                          CUjit_option*, void**) {
    auto* link = reinterpret_cast<Link*>(state);
    if (told("crash"))
        std::abort();
    while (told("hang"))
        pause();
    if (told("error")) {
        std::strcpy(link->errors, "ptxas application ptx input, line 3; error   : Unknown symbol 'x'");
        return CUDA_ERROR_INVALID_PTX;
    }
    if (type != CU_JIT_INPUT_PTX || size == 0 || static_cast<const char*>(data)[size - 1] != 0)
        return CUDA_ERROR_INVALID_VALUE;
    link->cubin.append(static_cast<const char*>(data), size - 1);
    std::strcpy(link->info,
                "ptxas info    : Compiling entry function 'k' for 'sm_90'\nptxas info    : Function properties for k\n"
                "    16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads\n"
                "ptxas info    : Used 20 registers, 4096 bytes smem");
    return CUDA_SUCCESS;
}
CUresult cuLinkComplete(CUlinkState state, void** cubin, size_t* size) {
    auto* link = reinterpret_cast<Link*>(state);
    *cubin = link->cubin.data();
    *size = link->cubin.size();
    return CUDA_SUCCESS;
}
CUresult cuLinkDestroy(CUlinkState state) {
    delete reinterpret_cast<Link*>(state);
    return CUDA_SUCCESS;
}
// What running a kernel takes: every driver has it, nobody here calls it.
CUresult cuDeviceGetName(char*, int, CUdevice) {
    return CUDA_ERROR_NOT_SUPPORTED;
}
CUresult cuDeviceGetAttribute(int*, CUdevice_attribute, CUdevice) {
    return CUDA_ERROR_NOT_SUPPORTED;
}
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice) {
    return CUDA_ERROR_NOT_SUPPORTED;
}
CUresult cuDevicePrimaryCtxReset_v2(CUdevice) {
    return CUDA_ERROR_NOT_SUPPORTED;
}
CUresult cuModuleLoadDataEx(CUmodule*, const void*, unsigned int, CUjit_option*, void**) {
    return CUDA_ERROR_NOT_SUPPORTED;
}
CUresult cuModuleUnload(CUmodule) {
    return CUDA_ERROR_NOT_SUPPORTED;
}
CUresult cuModuleGetFunction(CUfunction*, CUmodule, const char*) {
    return CUDA_ERROR_NOT_SUPPORTED;
}
CUresult cuModuleGetGlobal_v2(CUdeviceptr*, size_t*, CUmodule, const char*) {
    return CUDA_ERROR_NOT_SUPPORTED;
}
CUresult cuMemAlloc_v2(CUdeviceptr*, size_t) {
    return CUDA_ERROR_NOT_SUPPORTED;
}
CUresult cuMemFree_v2(CUdeviceptr) {
    return CUDA_ERROR_NOT_SUPPORTED;
}
CUresult cuMemcpyHtoD_v2(CUdeviceptr, const void*, size_t) {
    return CUDA_ERROR_NOT_SUPPORTED;
}
CUresult cuMemcpyDtoH_v2(void*, CUdeviceptr, size_t) {
    return CUDA_ERROR_NOT_SUPPORTED;
}
CUresult cuLaunchKernel(CUfunction, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int,
                        unsigned int, CUstream, void**, void**) {
    return CUDA_ERROR_NOT_SUPPORTED;
}
CUresult cuStreamQuery(CUstream) {
    return CUDA_ERROR_NOT_SUPPORTED;
}

}  // extern "C"
