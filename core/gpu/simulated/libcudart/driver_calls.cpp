// SPDX-License-Identifier: Apache-2.0
// dlopen, one dlsym, then cuGetProcAddress for each function.
#include "gpu/simulated/libcudart/driver_calls.hpp"

#include <dlfcn.h>

namespace egpu::simulated::runtime {

namespace {

/// The interface version whose forms the prototypes are. cuCtxSynchronize has another one from 13000 on.
constexpr int kVersion = 12090;

}  // namespace

bool open_driver(DriverCalls& calls) {
    void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        return false;
    }
    const auto get = reinterpret_cast<decltype(&cuGetProcAddress_v2)>(dlsym(library, "cuGetProcAddress_v2"));
    if (get == nullptr) {
        return false;
    }
    calls.cuGetProcAddress = get;
#define EGPU_GET(name, prototype)                                                                           \
    {                                                                                                       \
        void* found = nullptr;                                                                              \
        if (get(#name, &found, kVersion, CU_GET_PROC_ADDRESS_DEFAULT, nullptr) != CUDA_SUCCESS || !found) { \
            return false;                                                                                   \
        }                                                                                                   \
        calls.name = reinterpret_cast<decltype(calls.name)>(found);                                         \
    }
    EGPU_RUNTIME_DRIVER_FUNCTIONS(EGPU_GET)
#undef EGPU_GET
    return true;
}

}  // namespace egpu::simulated::runtime
