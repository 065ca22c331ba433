// SPDX-License-Identifier: Apache-2.0
// Graphs as applications use them, on the driver API. "application_graphs WAY" prints what the mock driver ran and
// "ok", or what it found wrong: above all a handle that is not the application's.
#include <cstring>
#include <map>

#include "application_graphs.hpp"

using namespace application;

namespace {

// ---- the ways -------------------------------------------------------------------------------------------------------

void captured_module() {
    const CUgraph graph = capture([] {
        launch(mine.work);
        launch(mine.work);
        launch(mine.other);
    });
    expect_original(node_of(graph, 0), mine.work, nullptr);
    expect_original(node_of(graph, 2), mine.other, nullptr);
    run(instantiate(graph), 3);
    run(instantiate(graph, 11000), 1);
}

void captured_library() {
    const CUgraph graph = capture([] {
        launch(reinterpret_cast<CUfunction>(mine.work_kernel));
        launch(mine.work_function);
    });
    expect_original(node_of(graph, 0), mine.work_function, mine.work_kernel);
    expect_original(node_of(graph, 1), mine.work_function, mine.work_kernel);
    run(instantiate(graph), 4);
}

void only_captured() {
    (void)instantiate(capture([] { launch(mine.work); }));
}

void between_launches() {
    launch(mine.work);
    const CUgraphExec instance = instantiate(capture([] { launch(mine.work); }));
    launch(mine.work);
    run(instance, 2);
    launch(mine.work);
}

void added_nodes() {
    const CUgraph graph = empty_graph();
    expect_original(add(graph, mine.work), mine.work, nullptr);
    CUDA_KERNEL_NODE_PARAMS_v1 old{};
    CUgraphNode node = nullptr;
    old.func = mine.work;
    old.blockDimX = old.blockDimY = old.blockDimZ = 1;
    check(CALL(cuGraphAddKernelNode, 10000)(&node, graph, nullptr, 0, &old), "add of 10.0");
    expect_original(node, mine.work, nullptr);
    CUgraphNodeParams any{};
    any.type = CU_GRAPH_NODE_TYPE_KERNEL;
    any.kernel.func = mine.work;
    any.kernel.blockDimX = any.kernel.blockDimY = any.kernel.blockDimZ = 1;
    check(CALL(cuGraphAddNode, 12020)(&node, graph, nullptr, 0, &any), "add node");
    expect_original(node, mine.work, nullptr);
    expect(any.kernel.func == mine.work, "the application's parameters are left as they were");
    check(CALL_AS(cuGraphAddNode, cuGraphAddNode_v2, 12030)(&node, graph, nullptr, nullptr, 0, &any), "add node v2");
    run(instantiate(graph));
}

void added_library_nodes() {
    const CUgraph graph = empty_graph();
    expect_original(add(graph, nullptr, mine.work_kernel), mine.work_function, mine.work_kernel);
    expect_original(add(graph, mine.work_function), mine.work_function, mine.work_kernel);
    CUgraphNodeParams any{};
    CUgraphNode node = nullptr;
    any.type = CU_GRAPH_NODE_TYPE_KERNEL;
    any.kernel.kern = mine.work_kernel;
    any.kernel.blockDimX = any.kernel.blockDimY = any.kernel.blockDimZ = 1;
    check(CALL(cuCtxGetCurrent, 4000)(&any.kernel.ctx), "current");
    check(CALL_AS(cuGraphAddNode, cuGraphAddNode_v2, 12030)(&node, graph, nullptr, nullptr, 0, &any), "add node");
    expect_original(node, mine.work_function, mine.work_kernel);
    // As frameworks do it: read, change, write back.
    CUDA_KERNEL_NODE_PARAMS read{};
    check(CALL_AS(cuGraphKernelNodeGetParams, cuGraphKernelNodeGetParams_v2, 12000)(node, &read), "read");
    check(CALL_AS(cuGraphKernelNodeSetParams, cuGraphKernelNodeSetParams_v2, 12000)(node, &read), "write");
    expect_original(node, mine.work_function, mine.work_kernel);
    run(instantiate(graph));
}

void set_in_graph() {
    const CUgraph graph = empty_graph();
    const CUgraphNode first = add(graph, mine.other), second = add(graph, mine.work), third = add(graph, mine.other);
    const CUDA_KERNEL_NODE_PARAMS work = params_of(mine.work), other = params_of(mine.other);
    CUDA_KERNEL_NODE_PARAMS_v1 old{};
    old.func = mine.work;
    old.blockDimX = old.blockDimY = old.blockDimZ = 1;
    check(CALL_AS(cuGraphKernelNodeSetParams, cuGraphKernelNodeSetParams_v2, 12000)(first, &work), "set");
    check(CALL_AS(cuGraphKernelNodeSetParams, cuGraphKernelNodeSetParams_v2, 12000)(second, &other), "set");
    check(CALL(cuGraphKernelNodeSetParams, 10000)(third, &old), "set of 10.0");
    expect_original(first, mine.work, nullptr);
    expect_original(second, mine.other, nullptr);
    CUgraphNodeParams any{};
    any.type = CU_GRAPH_NODE_TYPE_KERNEL;
    any.kernel.func = mine.work;
    any.kernel.blockDimX = any.kernel.blockDimY = any.kernel.blockDimZ = 1;
    check(CALL(cuGraphNodeSetParams, 12020)(first, &any), "set any");
    run(instantiate(graph));  // work, other, work
}

void set_in_instance() {
    const CUgraph graph = empty_graph();
    const CUgraphNode first = add(graph, mine.work), second = add(graph, mine.other);
    const CUgraphExec instance = instantiate(graph);
    const CUDA_KERNEL_NODE_PARAMS work = params_of(mine.work), other = params_of(mine.other);
    CUDA_KERNEL_NODE_PARAMS_v1 old{};
    old.func = mine.work;
    old.blockDimX = old.blockDimY = old.blockDimZ = 1;
    const auto set = CALL_AS(cuGraphExecKernelNodeSetParams, cuGraphExecKernelNodeSetParams_v2, 12000);
    run(instance);  // work, other
    check(set(instance, second, &work), "set");
    run(instance);  // work, work
    check(set(instance, first, &other), "set");
    run(instance);  // other, work
    check(CALL(cuGraphExecKernelNodeSetParams, 10010)(instance, first, &old), "set of 10.1");
    run(instance);  // work, work
    CUgraphNodeParams any{};
    any.type = CU_GRAPH_NODE_TYPE_KERNEL;
    any.kernel.func = mine.other;
    check(CALL(cuGraphExecNodeSetParams, 12020)(instance, second, &any), "set any");
    run(instance);  // work, other
}

void updated_instance() {
    const CUgraph graph = empty_graph(), changed = empty_graph(), larger = empty_graph();
    add(graph, mine.work);
    const CUgraphNode second = add(graph, mine.work);
    add(changed, mine.other);
    add(changed, mine.work);
    add(larger, mine.work);
    const CUgraphExec instance = instantiate(graph);
    CUgraphExecUpdateResultInfo info{};
    const auto update = CALL_AS(cuGraphExecUpdate, cuGraphExecUpdate_v2, 12000);
    run(instance);  // work, work
    check(update(instance, changed, &info), "update");
    run(instance);  // other, work
    expect(update(instance, larger, &info) != CUDA_SUCCESS, "another topology is refused");
    run(instance);  // other, work
    const CUDA_KERNEL_NODE_PARAMS other = params_of(mine.other);
    check(CALL_AS(cuGraphExecKernelNodeSetParams, cuGraphExecKernelNodeSetParams_v2, 12000)(instance, second, &other),
          "set after the update");
    run(instance);  // other, other
}

void child_graphs() {
    const CUgraph inner = empty_graph(), outer = empty_graph(), changed = empty_graph();
    CUgraphNode child = nullptr;
    CUgraph held = nullptr, copy = nullptr;
    add(inner, mine.work);
    add(inner, mine.work);
    add(changed, mine.work);
    add(changed, mine.other);
    add(outer, mine.other);
    check(CALL(cuGraphAddChildGraphNode, 10000)(&child, outer, nullptr, 0, inner), "child");
    add(outer, mine.work);
    check(CALL(cuGraphChildGraphNodeGetGraph, 10000)(child, &held), "graph of the child");
    expect_original(node_of(held, 1), mine.work, nullptr);
    check(CALL(cuGraphClone, 10000)(&copy, outer), "clone");
    const CUgraphExec instance = instantiate(outer);
    run(instance, 2);        // other, work, work, work
    run(instantiate(copy));  // the same
    check(CALL(cuGraphExecChildGraphNodeSetParams, 11010)(instance, child, changed), "child set");
    run(instance);  // other, work, other, work
    const CUDA_KERNEL_NODE_PARAMS other = params_of(mine.other);
    check(CALL_AS(cuGraphExecKernelNodeSetParams, cuGraphExecKernelNodeSetParams_v2, 12000)(instance, node_of(held, 0),
                                                                                            &other),
          "set in the child");
    run(instance);  // other, other, other, work
}

void disabled_nodes() {
    const CUgraph graph = empty_graph();
    const CUgraphNode first = add(graph, mine.work);
    add(graph, mine.work);
    const CUgraphExec instance = instantiate(graph);
    check(CALL(cuGraphNodeSetEnabled, 11060)(instance, first, 0), "disable");
    run(instance);  // work
    check(CALL(cuGraphNodeSetEnabled, 11060)(instance, first, 1), "enable");
    run(instance);  // work, work
}

void conditional_nodes() {
    const CUgraph graph = empty_graph();
    CUgraphNode node = nullptr;
    CUgraphNodeParams params{};
    params.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
    add(graph, mine.work);
    check(CALL_AS(cuGraphAddNode, cuGraphAddNode_v2, 12030)(&node, graph, nullptr, nullptr, 0, &params), "conditional");
    run(instantiate(graph), 2);
}

void launched_by_device() {
    CUgraphExec instance = nullptr;
    CUDA_GRAPH_INSTANTIATE_PARAMS params{};
    const CUgraph graph = empty_graph();
    params.flags = CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH;
    add(graph, mine.work);
    check(CALL(cuGraphInstantiateWithParams, 12000)(&instance, graph, &params), "instantiate with params");
    run(instance);
}

// Handles come again: what was known of the one before must not be taken for the next.
void many_instances() {
    const CUgraph graphs[] = {empty_graph(), empty_graph()};
    add(graphs[0], mine.work);
    add(graphs[1], mine.other);
    for (int i = 0; i < 1000; ++i) {
        const CUgraphExec instance = instantiate(graphs[i % 2]);
        run(instance);
        check(CALL(cuGraphExecDestroy, 10000)(instance), "destroy");
    }
    std::printf("graphs %d\n", reinterpret_cast<int (*)()>(dlsym(library, "mock_graphs_alive"))());
}

void after_reset() {
    run(instantiate(capture([] { launch(mine.work); })));
    check(CALL_AS(cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset_v2, 11000)(0), "reset");
}

// Every function that passes is the driver's own, every wrapped one is not; and what gives out handles gives out none
// of a copy.
void getters() {
    const auto is_of_driver = [](const char* name) {
        Dl_info info{};
        void* found = dlsym(library, name);
        return found == nullptr ||
               (dladdr(found, &info) != 0 && std::strstr(info.dli_fname, "libcuda.so.1") != nullptr);
    };
#define EGPU_PASSED(name, reason) expect(is_of_driver(#name), #name);
#include "agent/driver/passed.inc"
#undef EGPU_PASSED
#define EGPU_WRAPPED(name, treatment) \
    expect(dlsym(library, #name) == nullptr || !is_of_driver(#name), "wrapped " #name);
#define EGPU_USED(name)
#include "agent/driver/functions.inc"
#undef EGPU_WRAPPED
#undef EGPU_USED
    launch(mine.work);
    launch(mine.work_function);
    launch(reinterpret_cast<CUfunction>(mine.work_kernel));
    const CUfunction functions[] = {mine.work, mine.work_function, reinterpret_cast<CUfunction>(mine.work_kernel)};
    for (const CUfunction function : functions) {
        int registers = 0;
        check(CALL(cuFuncGetAttribute, 2020)(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, function), "attribute");
        expect(registers == 36, "the registers are the original's");
        expect(is_copy(function) == 0, "no handle is a copy's");
    }
}

}  // namespace

int main(int argc, char** argv) {
    const std::map<std::string, Way> ways = {
        {"captured-module", captured_module},
        {"captured-library", captured_library},
        {"only-captured", only_captured},
        {"between-launches", between_launches},
        {"added-nodes", added_nodes},
        {"added-library-nodes", added_library_nodes},
        {"set-in-graph", set_in_graph},
        {"set-in-instance", set_in_instance},
        {"updated-instance", updated_instance},
        {"child-graphs", child_graphs},
        {"disabled-nodes", disabled_nodes},
        {"conditional-nodes", conditional_nodes},
        {"launched-by-device", launched_by_device},
        {"many-instances", many_instances},
        {"after-reset", after_reset},
        {"getters", getters},
    };
    library = dlopen("libcuda.so.1", RTLD_LAZY);
    resolve = reinterpret_cast<decltype(resolve)>(dlsym(library, "cuGetProcAddress_v2"));
    is_copy = reinterpret_cast<decltype(is_copy)>(dlsym(library, "mock_is_copy"));
    const std::string name = argc > 1 ? argv[1] : "";
    const auto known = ways.find(name);
    const Way way = known != ways.end() ? known->second : switched_way(name);
    if (resolve == nullptr || way == nullptr)
        fail("usage");
    CUcontext context = nullptr;
    check(CALL(cuInit, 2000)(0), "cuInit");
    check(CALL(cuDevicePrimaryCtxRetain, 7000)(&context, 0), "retain");
    check(CALL(cuCtxSetCurrent, 4000)(context), "set current");
    const bool of_library = name.find("library") != std::string::npos;
    load(of_library);
    if (name == "getters")
        load(true);
    way();
    check(CALL(cuCtxSynchronize, 2000)(), "synchronise");
    int originals = 0, copies = 0, not_relaxed = 0;
    const auto counts = reinterpret_cast<void (*)(int*, int*, int*)>(dlsym(library, "mock_counts"));
    counts(&originals, &copies, &not_relaxed);
    const auto asked = reinterpret_cast<int (*)()>(dlsym(library, "mock_capture_questions"));
    std::printf("originals %d copies %d\nasked %d\nok\n", originals, copies, asked());
    return 0;
}
