// SPDX-License-Identifier: Apache-2.0
// Graphs of the mock driver: kernels, child graphs and conditional nodes. As driver 580 does, a node of a library's
// kernel answers with both handles, whichever it was made with, and a module's function has no kernel.
// The environment variable MOCK_REFUSE_COPIES=1 makes instantiation fail where a node holds a copy, MOCK_BUSY=1 streams
// busy for ever, MOCK_BUSY=2 also what events stand behind, MOCK_NO_CLONE=1 graphs that can't be cloned,
// MOCK_NO_UPDATE=1 instances that take no update from a graph, MOCK_CAPTURE_ERROR=N the question whether a stream is
// captured fail with N.
#include "mock_graphs.hpp"

#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

struct CUgraphNode_st {
    CUgraphNodeType type = CU_GRAPH_NODE_TYPE_KERNEL;
    CUfunction function = nullptr;
    CUgraphNode origin = nullptr;  // in the graph of which this one is a clone
    std::unique_ptr<CUgraph_st> child;
};
struct CUgraph_st {
    std::vector<std::unique_ptr<CUgraphNode_st>> nodes;
    CUgraphNode add(CUgraphNodeType type, CUfunction function) {
        auto node = std::make_unique<CUgraphNode_st>();
        node->type = type;
        node->function = function;
        nodes.push_back(std::move(node));
        return nodes.back().get();
    }
};
struct InstanceNode {
    CUgraphNode node;
    CUgraphNode parent;
    CUfunction function;
    bool enabled = true;
};
struct CUgraphExec_st {
    std::vector<InstanceNode> nodes;
};

extern "C" int mock_is_copy(CUfunction function);

namespace {

std::mutex noting;
std::map<CUkernel, bool> kernels;
std::map<CUfunction, CUkernel> kernel_of;
std::map<CUstream, CUgraph> captures;
int graphs_alive = 0;  // without children
int capture_questions = 0;

// A node holds a function; a library's kernel stands for its function in the current context.
CUfunction function_of(CUfunction named, CUkernel kernel) {
    const auto handle = named != nullptr ? reinterpret_cast<CUkernel>(named) : kernel;
    CUfunction function = named;
    if (kernels.contains(handle))
        cuKernelGetFunction(&function, handle);
    return function;
}

std::unique_ptr<CUgraph_st> clone(const CUgraph_st& graph) {
    auto copy = std::make_unique<CUgraph_st>();
    for (const auto& node : graph.nodes) {
        CUgraphNode made = copy->add(node->type, node->function);
        made->origin = node.get();
        if (node->child)
            made->child = clone(*node->child);
    }
    return copy;
}

void flatten(const CUgraph_st& graph, CUgraphNode parent, std::vector<InstanceNode>* nodes) {
    for (const auto& node : graph.nodes) {
        nodes->push_back({node.get(), parent, node->function});
        if (node->child)
            flatten(*node->child, node.get(), nodes);
    }
}

InstanceNode* find(CUgraphExec instance, CUgraphNode node) {
    for (InstanceNode& one : instance->nodes)
        if (one.node == node)
            return &one;
    return nullptr;
}

CUresult instantiate(CUgraphExec* instance, CUgraph graph) {
    auto made = std::make_unique<CUgraphExec_st>();
    flatten(*graph, nullptr, &made->nodes);
    const char* refuse = std::getenv("MOCK_REFUSE_COPIES");
    for (const InstanceNode& node : made->nodes)
        if (refuse != nullptr && node.function != nullptr && mock_is_copy(node.function) != 0)
            return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    *instance = made.release();
    return CUDA_SUCCESS;
}

bool is_set(const char* variable) {
    return std::getenv(variable) != nullptr;
}

CUresult update(CUgraphExec instance, const std::vector<InstanceNode>& nodes, std::size_t begin) {
    for (std::size_t i = 0; i < nodes.size(); ++i)
        instance->nodes[begin + i].function = nodes[i].function;
    return CUDA_SUCCESS;
}

}  // namespace

void mock_note_kernel(CUkernel kernel) {
    const std::lock_guard lock(noting);
    kernels[kernel] = true;
}

void mock_note_function(CUfunction function, CUkernel kernel) {
    const std::lock_guard lock(noting);
    kernel_of[function] = kernel;
}

bool mock_record(CUstream stream, CUfunction function) {
    if (!captures.contains(stream))
        return false;
    captures[stream]->add(CU_GRAPH_NODE_TYPE_KERNEL, function_of(function, nullptr));
    return true;
}

#pragma GCC visibility push(default)
extern "C" {

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode) {
    captures[stream] = new CUgraph_st;
    ++graphs_alive;
    return CUDA_SUCCESS;
}
CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
    *graph = captures[stream];
    captures.erase(stream);
    return CUDA_SUCCESS;
}
CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
    ++capture_questions;
    if (const char* error = std::getenv("MOCK_CAPTURE_ERROR"); error != nullptr)
        return static_cast<CUresult>(std::atoi(error));
    *status = captures.contains(stream) ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
}
CUresult cuStreamIsCapturing_ptsz(CUstream stream, CUstreamCaptureStatus* status) {
    return cuStreamIsCapturing(stream, status);
}

CUresult cuGraphCreate(CUgraph* graph, unsigned int) {
    *graph = new CUgraph_st;
    ++graphs_alive;
    return CUDA_SUCCESS;
}
CUresult cuGraphClone(CUgraph* copy, CUgraph graph) {
    if (is_set("MOCK_NO_CLONE"))
        return CUDA_ERROR_NOT_SUPPORTED;
    *copy = clone(*graph).release();
    ++graphs_alive;
    return CUDA_SUCCESS;
}
CUresult cuGraphNodeFindInClone(CUgraphNode* found, CUgraphNode original, CUgraph graph) {
    for (const auto& node : graph->nodes)
        if (node->origin == original) {
            *found = node.get();
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_INVALID_VALUE;
}
CUresult cuGraphDestroy(CUgraph graph) {
    --graphs_alive;
    delete graph;
    return CUDA_SUCCESS;
}
int mock_capture_questions(void) {
    return capture_questions;
}
int mock_graphs_alive(void) {
    return graphs_alive;
}
CUresult cuGraphDestroyNode(CUgraphNode node) {
    node->function = nullptr;  // kept: only the agent's view of it is looked at
    return CUDA_SUCCESS;
}
CUresult cuStreamQuery(CUstream) {
    return std::getenv("MOCK_BUSY") != nullptr ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}
CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode* nodes, size_t* count) {
    for (std::size_t i = 0; nodes != nullptr && i < *count && i < graph->nodes.size(); ++i)
        nodes[i] = graph->nodes[i].get();
    *count = graph->nodes.size();
    return CUDA_SUCCESS;
}
CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType* type) {
    *type = node->type;
    return CUDA_SUCCESS;
}

CUresult cuGraphAddKernelNode(CUgraphNode* node, CUgraph graph, const CUgraphNode*, size_t,
                              const CUDA_KERNEL_NODE_PARAMS_v1* params) {
    *node = graph->add(CU_GRAPH_NODE_TYPE_KERNEL, function_of(params->func, nullptr));
    return CUDA_SUCCESS;
}
CUresult cuGraphAddKernelNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode*, size_t,
                                 const CUDA_KERNEL_NODE_PARAMS* params) {
    *node = graph->add(CU_GRAPH_NODE_TYPE_KERNEL, function_of(params->func, params->kern));
    return CUDA_SUCCESS;
}
CUresult cuGraphAddNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode*, const CUgraphEdgeData*, size_t,
                           CUgraphNodeParams* params) {
    const bool kernel = params->type == CU_GRAPH_NODE_TYPE_KERNEL;
    *node = graph->add(params->type, kernel ? function_of(params->kernel.func, params->kernel.kern) : nullptr);
    return CUDA_SUCCESS;
}
CUresult cuGraphAddNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                        CUgraphNodeParams* params) {
    return cuGraphAddNode_v2(node, graph, dependencies, nullptr, count, params);
}
CUresult cuGraphAddChildGraphNode(CUgraphNode* node, CUgraph graph, const CUgraphNode*, size_t, CUgraph child) {
    *node = graph->add(CU_GRAPH_NODE_TYPE_GRAPH, nullptr);
    (*node)->child = clone(*child);
    return CUDA_SUCCESS;
}
CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph* graph) {
    *graph = node->child.get();
    return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1* params) {
    *params = {};
    params->func = node->function;
    params->gridDimX = params->blockDimX = params->blockDimY = params->blockDimZ = 1;
    return CUDA_SUCCESS;
}
CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS* params) {
    *params = {};
    params->func = node->function;
    params->gridDimX = params->blockDimX = params->blockDimY = params->blockDimZ = 1;
    const auto kernel = kernel_of.find(node->function);
    params->kern = kernel != kernel_of.end() ? kernel->second : nullptr;
    return cuCtxGetCurrent(&params->ctx);
}
CUresult cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1* params) {
    node->function = function_of(params->func, nullptr);
    return CUDA_SUCCESS;
}
CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* params) {
    node->function = function_of(params->func, params->kern);
    return CUDA_SUCCESS;
}
CUresult cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams* params) {
    node->function = function_of(params->kernel.func, params->kernel.kern);
    return CUDA_SUCCESS;
}

CUresult cuGraphInstantiate(CUgraphExec* instance, CUgraph graph, CUgraphNode*, char*, size_t) {
    return instantiate(instance, graph);
}
CUresult cuGraphInstantiate_v2(CUgraphExec* instance, CUgraph graph, CUgraphNode*, char*, size_t) {
    return instantiate(instance, graph);
}
CUresult cuGraphInstantiateWithFlags(CUgraphExec* instance, CUgraph graph, unsigned long long) {
    return instantiate(instance, graph);
}
CUresult cuGraphInstantiateWithParams(CUgraphExec* instance, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS* params) {
    params->result_out = CUDA_GRAPH_INSTANTIATE_SUCCESS;
    return instantiate(instance, graph);
}
CUresult cuGraphExecKernelNodeSetParams(CUgraphExec instance, CUgraphNode node,
                                        const CUDA_KERNEL_NODE_PARAMS_v1* params) {
    InstanceNode* found = find(instance, node);
    if (found != nullptr)
        found->function = function_of(params->func, nullptr);
    return found != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec instance, CUgraphNode node,
                                           const CUDA_KERNEL_NODE_PARAMS* params) {
    InstanceNode* found = find(instance, node);
    if (found != nullptr)
        found->function = function_of(params->func, params->kern);
    return found != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuGraphExecNodeSetParams(CUgraphExec instance, CUgraphNode node, CUgraphNodeParams* params) {
    InstanceNode* found = find(instance, node);
    if (found != nullptr)
        found->function = function_of(params->kernel.func, params->kernel.kern);
    return found != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec instance, CUgraphNode node, CUgraph child) {
    std::vector<InstanceNode> nodes;
    flatten(*child, node, &nodes);
    return update(instance, nodes, static_cast<std::size_t>(find(instance, node) - instance->nodes.data()) + 1);
}
CUresult cuGraphExecUpdate_v2(CUgraphExec instance, CUgraph graph, CUgraphExecUpdateResultInfo* info) {
    std::vector<InstanceNode> nodes;
    flatten(*graph, nullptr, &nodes);
    const bool same = nodes.size() == instance->nodes.size() && !is_set("MOCK_NO_UPDATE");
    info->result = same ? CU_GRAPH_EXEC_UPDATE_SUCCESS : CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    return same ? update(instance, nodes, 0) : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuGraphNodeSetEnabled(CUgraphExec instance, CUgraphNode node, unsigned int enabled) {
    find(instance, node)->enabled = enabled != 0;
    return CUDA_SUCCESS;
}
CUresult cuGraphLaunch(CUgraphExec instance, CUstream) {
    for (const InstanceNode& node : instance->nodes) {
        const CUresult result = node.function == nullptr || !node.enabled
                                    ? CUDA_SUCCESS
                                    : cuLaunchKernel(node.function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr);
        if (result != CUDA_SUCCESS)
            return result;
    }
    return CUDA_SUCCESS;
}
CUresult cuGraphLaunch_ptsz(CUgraphExec instance, CUstream stream) {
    return cuGraphLaunch(instance, stream);
}
CUresult cuGraphExecDestroy(CUgraphExec instance) {
    delete instance;
    return CUDA_SUCCESS;
}

}  // extern "C"
#pragma GCC visibility pop

void* mock_graph_export(const char* name, int version, bool per_thread) {
    struct Export {
        const char* name;
        int since;
        void* function;
    };
#define EXPORT(name, since, function) \
    { #name, since, reinterpret_cast < void*>(function) }
    static const Export exports[] = {
        EXPORT(cuStreamBeginCapture, 10010, cuStreamBeginCapture_v2),
        EXPORT(cuStreamEndCapture, 10000, cuStreamEndCapture),
        EXPORT(cuGraphCreate, 10000, cuGraphCreate),
        EXPORT(cuGraphClone, 10000, cuGraphClone),
        EXPORT(cuGraphDestroy, 10000, cuGraphDestroy),
        EXPORT(cuGraphGetNodes, 10000, cuGraphGetNodes),
        EXPORT(cuGraphNodeGetType, 10000, cuGraphNodeGetType),
        EXPORT(cuGraphAddKernelNode, 12000, cuGraphAddKernelNode_v2),
        EXPORT(cuGraphAddKernelNode, 10000, cuGraphAddKernelNode),
        EXPORT(cuGraphAddNode, 12030, cuGraphAddNode_v2),
        EXPORT(cuGraphAddNode, 12020, cuGraphAddNode),
        EXPORT(cuGraphAddChildGraphNode, 10000, cuGraphAddChildGraphNode),
        EXPORT(cuGraphChildGraphNodeGetGraph, 10000, cuGraphChildGraphNodeGetGraph),
        EXPORT(cuGraphKernelNodeGetParams, 12000, cuGraphKernelNodeGetParams_v2),
        EXPORT(cuGraphKernelNodeGetParams, 10000, cuGraphKernelNodeGetParams),
        EXPORT(cuGraphKernelNodeSetParams, 12000, cuGraphKernelNodeSetParams_v2),
        EXPORT(cuGraphKernelNodeSetParams, 10000, cuGraphKernelNodeSetParams),
        EXPORT(cuGraphNodeSetParams, 12020, cuGraphNodeSetParams),
        EXPORT(cuGraphInstantiateWithParams, 12000, cuGraphInstantiateWithParams),
        EXPORT(cuGraphInstantiate, 12000, cuGraphInstantiateWithFlags),
        EXPORT(cuGraphInstantiate, 11000, cuGraphInstantiate_v2),
        EXPORT(cuGraphInstantiate, 10000, cuGraphInstantiate),
        EXPORT(cuGraphExecKernelNodeSetParams, 12000, cuGraphExecKernelNodeSetParams_v2),
        EXPORT(cuGraphExecKernelNodeSetParams, 10010, cuGraphExecKernelNodeSetParams),
        EXPORT(cuGraphExecNodeSetParams, 12020, cuGraphExecNodeSetParams),
        EXPORT(cuGraphExecChildGraphNodeSetParams, 11010, cuGraphExecChildGraphNodeSetParams),
        EXPORT(cuGraphExecUpdate, 12000, cuGraphExecUpdate_v2),
        EXPORT(cuGraphNodeSetEnabled, 11060, cuGraphNodeSetEnabled),
        EXPORT(cuGraphLaunch, 10000, cuGraphLaunch),
        EXPORT(cuGraphExecDestroy, 10000, cuGraphExecDestroy),
    };
    if (per_thread && std::strcmp(name, "cuGraphLaunch") == 0)
        return reinterpret_cast<void*>(cuGraphLaunch_ptsz);
    for (const Export& known : exports)
        if (version >= known.since && std::strcmp(name, known.name) == 0)
            return known.function;
    return nullptr;
}
