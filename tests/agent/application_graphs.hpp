// SPDX-License-Identifier: Apache-2.0
// How the test application for graphs reaches the driver, makes graphs and looks at them.
#pragma once

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "gpu/device/driver.h"

namespace application {

inline const char kText[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n// mock-registers 36\n"
    ".visible .entry work() { ret; }\n.visible .entry other() { ret; }\n";

inline void* library = nullptr;
inline decltype(&cuGetProcAddress_v2) resolve = nullptr;
inline int (*is_copy)(CUfunction) = nullptr;

[[noreturn]] inline void fail(const char* what) {
    std::printf("failed: %s\n", what);
    std::fflush(stdout);
    std::_Exit(3);
}

inline void* address(const char* name, int version) {
    void* found = nullptr;
    if (resolve(name, &found, version, 0, nullptr) != CUDA_SUCCESS || found == nullptr)
        fail(name);
    return found;
}

#define CALL(name, version) (reinterpret_cast<decltype(&::name)>(address(#name, version)))
#define CALL_AS(name, export, version) (reinterpret_cast<decltype(&::export)>(address(#name, version)))

inline void check(CUresult result, const char* what) {
    if (result != CUDA_SUCCESS)
        fail(what);
}

inline void expect(bool holds, const char* what) {
    if (!holds)
        fail(what);
}

// The application's kernels, once of a module and once of a library.
struct Kernels {
    CUfunction work = nullptr, other = nullptr;
    CUkernel work_kernel = nullptr;
    CUfunction work_function = nullptr;  // of work_kernel
};
inline Kernels mine;

inline void load(bool as_library) {
    CUmodule module = nullptr;
    CUlibrary loaded = nullptr;
    if (as_library) {
        check(CALL(cuLibraryLoadData, 12000)(&loaded, kText, nullptr, nullptr, 0, nullptr, nullptr, 0), "library");
        check(CALL(cuLibraryGetKernel, 12000)(&mine.work_kernel, loaded, "work"), "kernel");
        check(CALL(cuKernelGetFunction, 12000)(&mine.work_function, mine.work_kernel), "function of kernel");
        return;
    }
    check(CALL(cuModuleLoadData, 2000)(&module, kText), "load");
    check(CALL(cuModuleGetFunction, 2000)(&mine.work, module, "work"), "work");
    check(CALL(cuModuleGetFunction, 2000)(&mine.other, module, "other"), "other");
}

inline CUstream stream() {
    static CUstream made = nullptr;
    if (made == nullptr)
        check(CALL(cuStreamCreate, 2000)(&made, 0), "stream");
    return made;
}

inline void launch(CUfunction function) {
    check(CALL(cuLaunchKernel, 7000)(function, 1, 1, 1, 128, 1, 1, 0, stream(), nullptr, nullptr), "launch");
}

template <typename Launches>
inline CUgraph capture(const Launches& launches) {
    CUgraph graph = nullptr;
    check(CALL_AS(cuStreamBeginCapture, cuStreamBeginCapture_v2, 11000)(stream(), CU_STREAM_CAPTURE_MODE_GLOBAL),
          "capture");
    launches();
    check(CALL(cuStreamEndCapture, 11000)(stream(), &graph), "end capture");
    return graph;
}

inline CUgraphExec instantiate(CUgraph graph, int version = 12000) {
    CUgraphExec instance = nullptr;
    if (version >= 12000)
        check(CALL_AS(cuGraphInstantiate, cuGraphInstantiateWithFlags, 12000)(&instance, graph, 0), "instantiate");
    else
        check(CALL(cuGraphInstantiate, 11000)(&instance, graph, nullptr, nullptr, 0), "instantiate of 11.0");
    return instance;
}

inline void run(CUgraphExec instance, int times = 1) {
    for (int i = 0; i < times; ++i)
        check(CALL(cuGraphLaunch, 10000)(instance, stream()), "graph launch");
}

inline CUgraphNode node_of(CUgraph graph, std::size_t index) {
    CUgraphNode nodes[16] = {};
    std::size_t count = 16;
    check(CALL(cuGraphGetNodes, 10000)(graph, nodes, &count), "nodes");
    expect(index < count, "as many nodes as were made");
    return nodes[index];
}

// Whatever is asked, in whatever version, answers with the application's handles.
inline void expect_original(CUgraphNode node, CUfunction function, CUkernel kernel) {
    CUDA_KERNEL_NODE_PARAMS_v1 first{};
    CUDA_KERNEL_NODE_PARAMS second{};
    check(CALL(cuGraphKernelNodeGetParams, 10000)(node, &first), "params");
    check(CALL_AS(cuGraphKernelNodeGetParams, cuGraphKernelNodeGetParams_v2, 12000)(node, &second), "params v2");
    expect(first.func == function, "the first getter gives the original");
    expect(second.func == function && second.kern == kernel, "the second getter gives the original's handles");
}

inline CUDA_KERNEL_NODE_PARAMS params_of(CUfunction function, CUkernel kernel = nullptr) {
    CUDA_KERNEL_NODE_PARAMS params{};
    params.func = function;
    params.kern = kernel;
    params.gridDimX = params.gridDimY = params.gridDimZ = params.blockDimY = params.blockDimZ = 1;
    params.blockDimX = 128;
    return params;
}

inline CUgraph empty_graph() {
    CUgraph graph = nullptr;
    check(CALL(cuGraphCreate, 10000)(&graph, 0), "create");
    return graph;
}

inline CUgraphNode add(CUgraph graph, CUfunction function, CUkernel kernel = nullptr) {
    CUgraphNode node = nullptr;
    const CUDA_KERNEL_NODE_PARAMS params = params_of(function, kernel);
    check(CALL_AS(cuGraphAddKernelNode, cuGraphAddKernelNode_v2, 12000)(&node, graph, nullptr, 0, &params), "add");
    return node;
}

/// Ways in which copies are switched off and on; null where `way` is none of them.
using Way = void (*)();
Way switched_way(const std::string& way);

}  // namespace application
