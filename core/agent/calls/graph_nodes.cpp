// SPDX-License-Identifier: Apache-2.0
// Kernels in nodes of graphs. Where the application names an original, the node may get its copy, under the conditions
// of a launch; where it asks, it gets the original, and both handles of a library's kernel, as without us.
#include "agent/driver/driver.hpp"
#include "agent/graphs/instances.hpp"
#include "agent/graphs/recorded.hpp"
#include "agent/hook/entry.hpp"
#include "agent/session/session.hpp"
#include "agent/swap/swap.hpp"

using namespace egpu::agent;

namespace {

using Params1 = CUDA_KERNEL_NODE_PARAMS_v1;
using Params2 = CUDA_KERNEL_NODE_PARAMS;
using Params3 = CUDA_KERNEL_NODE_PARAMS_v3;

bool watched() {
    return counting() && !Forwarded::nested();
}

template <typename Params>
Choice choose_for(CUfunction asked, const Params& params) {
    LaunchShape shape;
    shape.block.threads = params.blockDimX * params.blockDimY * params.blockDimZ;
    shape.block.shared_bytes = params.sharedMemBytes;
    shape.recorded = true;
    return choose(asked, shape);
}

Choice choose_for(const Params1& params) {
    return choose_for(params.func, params);
}

// `kern` and `ctx` count only where `func` is null (cuda.h).
template <typename Params>
Choice choose_for(const Params& params) {
    if (params.func != nullptr)
        return choose_for(params.func, params);
    const Driver& real = driver();
    const OwnCalls own;
    CUcontext popped = nullptr;
    const bool pushed = params.ctx != nullptr && real.cuCtxPushCurrent_v2(params.ctx) == CUDA_SUCCESS;
    const Choice choice = choose_for(reinterpret_cast<CUfunction>(params.kern), params);
    if (pushed)
        real.cuCtxPopCurrent_v2(&popped);
    return choice;
}

void put(Params1* params, CUfunction copy) {
    params->func = copy;
}

template <typename Params>
void put(Params* params, CUfunction copy) {
    params->func = copy;
    params->kern = nullptr;
}

struct Held {
    Kernel* kernel = nullptr;
    CUfunction copy = nullptr;
};

// `call(params)` with the copy where there is one and the driver takes it, else with what the application named.
template <typename Params, typename Call>
CUresult swap_in(const Params* params, Held* held, const Call& call) {
    if (params == nullptr || !watched())
        return call(params);
    const Choice choice = choose_for(*params);
    const Forwarded forwarded;
    held->kernel = choice.kernel;
    if (choice.is_copy) {
        Params swapped = *params;
        put(&swapped, choice.function);
        held->copy = choice.function;
        const CUresult result = call(static_cast<const Params*>(&swapped));
        if (result == CUDA_SUCCESS || is_sticky(result))
            return result;
        held->copy = nullptr;
    }
    return call(params);
}

// Parameters of a node of any type.
template <typename Call>
CUresult swap_in(CUgraphNodeParams* params, Held* held, const Call& call) {
    if (params == nullptr || params->type != CU_GRAPH_NODE_TYPE_KERNEL)
        return call(params);
    return swap_in(&params->kernel, held, [&](const Params3* kernel) {
        if (kernel == &params->kernel)
            return call(params);
        CUgraphNodeParams swapped = *params;
        swapped.kernel = *kernel;
        return call(&swapped);
    });
}

void swap_back(CUresult result, Params1* params) {
    const Recorded* found = result == CUDA_SUCCESS && params != nullptr ? recorded(params->func) : nullptr;
    if (found != nullptr)
        params->func = found->original;
}

void swap_back(CUresult result, Params2* params) {
    const Recorded* found = result == CUDA_SUCCESS && params != nullptr ? recorded(params->func) : nullptr;
    if (found == nullptr)
        return;
    params->func = found->original;
    params->kern = found->original_kernel;
}

template <typename Real, typename Params>
CUresult get(Real real, CUgraphNode node, Params* params) {
    if (real == nullptr)
        return CUDA_ERROR_NOT_SUPPORTED;
    const CUresult result = real(node, params);
    if (!Forwarded::nested())
        swap_back(result, params);
    return result;
}

template <typename Real, typename Params>
CUresult set(Real real, CUgraphNode node, Params* params) {
    if (real == nullptr)
        return CUDA_ERROR_NOT_SUPPORTED;
    Held held;
    const CUresult result = swap_in(params, &held, [&](auto* swapped) { return real(node, swapped); });
    if (result == CUDA_SUCCESS && watched())
        graph_node_changed(node);
    return result;
}

template <typename Real, typename Params>
CUresult set_in_instance(Real real, CUgraphExec instance, CUgraphNode node, Params* params, bool is_kernel) {
    if (real == nullptr)
        return CUDA_ERROR_NOT_SUPPORTED;
    Held held;
    const CUresult result = swap_in(params, &held, [&](auto* swapped) { return real(instance, node, swapped); });
    if (result == CUDA_SUCCESS && watched()) {
        if (is_kernel)
            instance_node_set(instance, node, held.kernel, held.copy);
        else
            instance_other_node_set(instance);
    }
    return result;
}

// Nodes that are no kernels: what the instance was made from is not what it is any more.
template <typename Real, typename... Arguments>
CUresult set_other(Real real, CUgraphExec instance, Arguments... arguments) {
    if (real == nullptr)
        return CUDA_ERROR_NOT_SUPPORTED;
    const CUresult result = real(instance, arguments...);
    if (result == CUDA_SUCCESS && watched())
        instance_other_node_set(instance);
    return result;
}

}  // namespace

CUresult cuGraphAddKernelNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                              size_t numDependencies, const CUDA_KERNEL_NODE_PARAMS_v1* nodeParams) {
    const auto real = real_driver().cuGraphAddKernelNode;
    Held held;
    if (real == nullptr)
        return CUDA_ERROR_NOT_SUPPORTED;
    return swap_in(nodeParams, &held, [&](const Params1* params) {
        return real(phGraphNode, hGraph, dependencies, numDependencies, params);
    });
}

CUresult cuGraphAddKernelNode_v2(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                                 size_t numDependencies, const CUDA_KERNEL_NODE_PARAMS* nodeParams) {
    const auto real = real_driver().cuGraphAddKernelNode_v2;
    Held held;
    if (real == nullptr)
        return CUDA_ERROR_NOT_SUPPORTED;
    return swap_in(nodeParams, &held, [&](const Params2* params) {
        return real(phGraphNode, hGraph, dependencies, numDependencies, params);
    });
}

CUresult cuGraphAddNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                        size_t numDependencies, CUgraphNodeParams* nodeParams) {
    const auto real = real_driver().cuGraphAddNode;
    Held held;
    if (real == nullptr)
        return CUDA_ERROR_NOT_SUPPORTED;
    return swap_in(nodeParams, &held, [&](CUgraphNodeParams* params) {
        return real(phGraphNode, hGraph, dependencies, numDependencies, params);
    });
}

CUresult cuGraphAddNode_v2(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                           const CUgraphEdgeData* dependencyData, size_t numDependencies,
                           CUgraphNodeParams* nodeParams) {
    const auto real = real_driver().cuGraphAddNode_v2;
    Held held;
    if (real == nullptr)
        return CUDA_ERROR_NOT_SUPPORTED;
    return swap_in(nodeParams, &held, [&](CUgraphNodeParams* params) {
        return real(phGraphNode, hGraph, dependencies, dependencyData, numDependencies, params);
    });
}

CUresult cuGraphKernelNodeGetParams(CUgraphNode hNode, CUDA_KERNEL_NODE_PARAMS_v1* nodeParams) {
    return get(real_driver().cuGraphKernelNodeGetParams, hNode, nodeParams);
}

CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode hNode, CUDA_KERNEL_NODE_PARAMS* nodeParams) {
    return get(real_driver().cuGraphKernelNodeGetParams_v2, hNode, nodeParams);
}

CUresult cuGraphKernelNodeSetParams(CUgraphNode hNode, const CUDA_KERNEL_NODE_PARAMS_v1* nodeParams) {
    return set(real_driver().cuGraphKernelNodeSetParams, hNode, nodeParams);
}

CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode hNode, const CUDA_KERNEL_NODE_PARAMS* nodeParams) {
    return set(real_driver().cuGraphKernelNodeSetParams_v2, hNode, nodeParams);
}

CUresult cuGraphNodeSetParams(CUgraphNode hNode, CUgraphNodeParams* nodeParams) {
    return set(real_driver().cuGraphNodeSetParams, hNode, nodeParams);
}

CUresult cuGraphExecKernelNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                        const CUDA_KERNEL_NODE_PARAMS_v1* nodeParams) {
    return set_in_instance(real_driver().cuGraphExecKernelNodeSetParams, hGraphExec, hNode, nodeParams, true);
}

CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec hGraphExec, CUgraphNode hNode,
                                           const CUDA_KERNEL_NODE_PARAMS* nodeParams) {
    return set_in_instance(real_driver().cuGraphExecKernelNodeSetParams_v2, hGraphExec, hNode, nodeParams, true);
}

CUresult cuGraphExecNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode, CUgraphNodeParams* nodeParams) {
    const bool is_kernel = nodeParams != nullptr && nodeParams->type == CU_GRAPH_NODE_TYPE_KERNEL;
    const CUresult result =
        set_in_instance(real_driver().cuGraphExecNodeSetParams, hGraphExec, hNode, nodeParams, is_kernel);
    if (result == CUDA_SUCCESS && nodeParams != nullptr && nodeParams->type == CU_GRAPH_NODE_TYPE_GRAPH && watched()) {
        const OwnCalls own;
        instance_child_updated(hGraphExec, hNode, nodeParams->graph.graph);
    }
    return result;
}

CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode, const CUDA_MEMCPY3D* copyParams,
                                        CUcontext ctx) {
    return set_other(real_driver().cuGraphExecMemcpyNodeSetParams, hGraphExec, hNode, copyParams, ctx);
}

CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                        const CUDA_MEMSET_NODE_PARAMS* memsetParams, CUcontext ctx) {
    return set_other(real_driver().cuGraphExecMemsetNodeSetParams, hGraphExec, hNode, memsetParams, ctx);
}

CUresult cuGraphExecHostNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                      const CUDA_HOST_NODE_PARAMS* nodeParams) {
    return set_other(real_driver().cuGraphExecHostNodeSetParams, hGraphExec, hNode, nodeParams);
}
