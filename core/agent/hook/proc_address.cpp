// SPDX-License-Identifier: Apache-2.0
// cuGetProcAddress in both forms. The driver chooses by name, version and flags, and answers with one of its exports
// (seen with driver 580: in each case); the answer is wrapped by that pointer, never by the requested name, since one
// name stands for several prototypes: the 4-argument form is CUDA 11.3's, the 5-argument one is _v2 since CUDA 12.
#include "agent/hook/entry.hpp"

using namespace egpu::agent;

namespace {

void wrap_answer(CUresult result, void** answer) {
    if (result == CUDA_SUCCESS && answer != nullptr)
        *answer = wrapper_of(*answer);
}

}  // namespace

CUresult cuGetProcAddress(const char* symbol, void** pfn, int cudaVersion, cuuint64_t flags) {
    const Driver& real = real_driver();
    if (real.cuGetProcAddress == nullptr)
        return CUDA_ERROR_NOT_SUPPORTED;
    const CUresult result = real.cuGetProcAddress(symbol, pfn, cudaVersion, flags);
    wrap_answer(result, pfn);
    return result;
}

CUresult cuGetProcAddress_v2(const char* symbol, void** pfn, int cudaVersion, cuuint64_t flags,
                             CUdriverProcAddressQueryResult* symbolStatus) {
    const Driver& real = real_driver();
    if (real.cuGetProcAddress_v2 == nullptr)
        return CUDA_ERROR_NOT_SUPPORTED;
    const CUresult result = real.cuGetProcAddress_v2(symbol, pfn, cudaVersion, flags, symbolStatus);
    wrap_answer(result, pfn);
    return result;
}
