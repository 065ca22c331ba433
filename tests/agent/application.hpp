// SPDX-License-Identifier: Apache-2.0
// How the test application reaches the driver, and what it does in each of its ways.
#pragma once

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "gpu/device/driver.h"

namespace application {

inline const char kText[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n// mock-registers 36\n// mock-time 100000\n"
    ".visible .global .align 8 .u64 app_counter;\n.visible .const .align 8 .u64 app_table[2];\n"
    ".visible .entry work() { ret; }\n.visible .entry other() { ret; }\n";

using Resolve = CUresult (*)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);
using Resolve11 = CUresult (*)(const char*, void**, int, cuuint64_t);

inline void* library = nullptr;
inline Resolve resolve = nullptr;
inline Resolve11 resolve11 = nullptr;
inline cuuint64_t flags = CU_GET_PROC_ADDRESS_DEFAULT;

[[noreturn]] inline void fail(const char* what) {
    std::printf("failed: %s\n", what);
    std::fflush(stdout);
    std::_Exit(3);
}

inline void* address(const char* name, int version) {
    void* found = nullptr;
    const CUresult result =
        resolve != nullptr ? resolve(name, &found, version, flags, nullptr) : resolve11(name, &found, version, flags);
    if (result != CUDA_SUCCESS || found == nullptr)
        fail(name);
    return found;
}

#define CALL(name, version) (reinterpret_cast<decltype(&::name)>(address(#name, version)))
#define CALL_AS(name, export, version) (reinterpret_cast<decltype(&::export)>(address(#name, version)))

inline void check(CUresult result, const char* what) {
    if (result != CUDA_SUCCESS)
        fail(what);
}

inline void open_driver() {
    library = dlopen("libcuda.so.1", RTLD_LAZY);
    if (library == nullptr)
        fail(dlerror());
    resolve = reinterpret_cast<Resolve>(dlsym(library, "cuGetProcAddress_v2"));
    if (resolve == nullptr)
        fail("cuGetProcAddress_v2");
}

// A caller of CUDA 11: the 4-argument form has no status to write to; a fifth argument would be what the register
// holds.
inline void open_driver_of_cuda_11() {
    library = dlopen("libcuda.so.1", RTLD_LAZY);
    resolve11 = reinterpret_cast<Resolve11>(dlsym(library, "cuGetProcAddress"));
    void* through = nullptr;
    check(resolve11("cuGetProcAddress", &through, 11030, 0), "cuGetProcAddress of 11.3");
    if (through != reinterpret_cast<void*>(resolve11))
        fail("two forms of cuGetProcAddress 11.3");
    resolve11 = reinterpret_cast<Resolve11>(through);
}

inline CUcontext retain_and_set() {
    check(CALL(cuInit, 2000)(0), "cuInit");
    CUcontext context = nullptr;
    check(CALL(cuDevicePrimaryCtxRetain, 7000)(&context, 0), "retain");
    check(CALL(cuCtxSetCurrent, 4000)(context), "set current");
    return context;
}

inline CUfunction load_work() {
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    check(CALL(cuModuleLoadData, 2000)(&module, kText), "load");
    check(CALL(cuModuleGetFunction, 2000)(&function, module, "work"), "function");
    return function;
}

inline CUfunction load_work_as_library() {
    CUlibrary loaded = nullptr;
    CUkernel kernel = nullptr;
    check(CALL(cuLibraryLoadData, 12000)(&loaded, kText, nullptr, nullptr, 0, nullptr, nullptr, 0), "library");
    check(CALL(cuLibraryGetKernel, 12000)(&kernel, loaded, "work"), "kernel");
    return reinterpret_cast<CUfunction>(kernel);
}

inline void launch(CUfunction function, int times, unsigned int threads = 128, CUstream stream = nullptr) {
    for (int i = 0; i < times; ++i)
        check(CALL(cuLaunchKernel, 7000)(function, 1, 1, 1, threads, 1, 1, 0, stream, nullptr, nullptr), "launch");
}

inline void synchronise() {
    check(CALL(cuCtxSynchronize, 2000)(), "synchronise");
}

inline void print_counts() {
    int originals = 0, copies = 0, not_relaxed = 0;
    const auto counts = reinterpret_cast<void (*)(int*, int*, int*)>(dlsym(library, "mock_counts"));
    if (counts != nullptr) {
        counts(&originals, &copies, &not_relaxed);
        std::printf("originals %d copies %d\n", originals, copies);
        if (not_relaxed != 0)
            fail("loads outside relaxed capture mode");
    }
    const auto sequence = reinterpret_cast<const char* (*)()>(dlsym(library, "mock_sequence"));
    if (sequence != nullptr && std::getenv("PRINT_SEQUENCE") != nullptr)
        std::printf("sequence %s\n", sequence());
}

/// Constants that change between launches; false where `way` is none of those.
bool run_constants(const std::string& way, int launches);
/// Several contexts and devices, modules that come and go, shapes of launches: false where `way` is none of those.
bool run_contexts(const std::string& way, int launches);
/// Launches that are timed against each other, and waits; the same.
bool run_overhead(const std::string& way, int launches);

}  // namespace application
