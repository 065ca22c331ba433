// SPDX-License-Identifier: Apache-2.0
// Nodes of graphs by type: added, asked for their parameters, given others.
#include "gpu/simulated/libcuda/graph.hpp"

namespace egpu::simulated {

CUresult kernel_work(const CUDA_KERNEL_NODE_PARAMS& parameters, DriverContext& context, Work& work) {
    Driver& state = driver();
    // As measured on a GPU: a kernel's handle is taken in `kern` only, and not beside a function.
    if (parameters.func != nullptr && state.functions.find(parameters.func) == nullptr) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    LaunchRequest request{parameters.func,
                          parameters.func == nullptr ? parameters.kern : nullptr,
                          {parameters.gridDimX, parameters.gridDimY, parameters.gridDimZ},
                          {parameters.blockDimX, parameters.blockDimY, parameters.blockDimZ},
                          parameters.sharedMemBytes,
                          parameters.kernelParams,
                          parameters.extra,
                          false};
    // A function belongs to a context; it is there that its node runs, whichever is current.
    const std::shared_ptr<Function> function = state.functions.find(parameters.func);
    const CurrentContext chosen =
        function != nullptr         ? context_of(reinterpret_cast<CUcontext>(function->module->context))
        : parameters.ctx != nullptr ? context_of(parameters.ctx)
                                    : CurrentContext{context.shared_from_this(), CUDA_SUCCESS};
    if (chosen.error != CUDA_SUCCESS) {
        return chosen.error;
    }
    KernelWork made;
    const CUresult error = prepare_launch(request, *chosen.context, made);
    work = std::move(made);
    return error;
}

CUDA_KERNEL_NODE_PARAMS kernel_parameters(const KernelWork& work) {
    CUDA_KERNEL_NODE_PARAMS parameters{};
    parameters.func = reinterpret_cast<CUfunction>(work.function.get());
    parameters.gridDimX = work.grid.x;
    parameters.gridDimY = work.grid.y;
    parameters.gridDimZ = work.grid.z;
    parameters.blockDimX = work.block.x;
    parameters.blockDimY = work.block.y;
    parameters.blockDimZ = work.block.z;
    parameters.sharedMemBytes = work.shared_bytes;
    parameters.kernelParams = work.pointers.empty() ? nullptr : const_cast<void**>(work.pointers.data());
    parameters.kern = work.kernel;
    parameters.ctx = reinterpret_cast<CUcontext>(work.context.get());
    return parameters;
}

void keep_cluster(const Work& old, Work& work) {
    if (const auto* const before = std::get_if<KernelWork>(&old)) {
        if (auto* const after = std::get_if<KernelWork>(&work)) {
            after->cluster = before->cluster;
        }
    }
}

bool may_replace(const Work& old, const Work& work) {
    if (type_of(old) != type_of(work)) {
        return false;
    }
    switch (type_of(work)) {
        case CU_GRAPH_NODE_TYPE_KERNEL:
            // A node stays in its context, and cooperative or not.
            return std::get<KernelWork>(old).context == std::get<KernelWork>(work).context &&
                   std::get<KernelWork>(old).cooperative == std::get<KernelWork>(work).cooperative;
        case CU_GRAPH_NODE_TYPE_MEMCPY:
            return std::get<CopyWork>(old).copy.srcMemoryType == std::get<CopyWork>(work).copy.srcMemoryType &&
                   std::get<CopyWork>(old).copy.dstMemoryType == std::get<CopyWork>(work).copy.dstMemoryType;
        default:
            return true;
    }
}

namespace {

CUDA_KERNEL_NODE_PARAMS widen(const CUDA_KERNEL_NODE_PARAMS_v1& old) {
    return {old.func,      old.gridDimX,       old.gridDimY,     old.gridDimZ, old.blockDimX, old.blockDimY,
            old.blockDimZ, old.sharedMemBytes, old.kernelParams, old.extra,    nullptr,       nullptr};
}

CUDA_KERNEL_NODE_PARAMS widen(const CUDA_KERNEL_NODE_PARAMS_v3& other) {
    return {other.func,      other.gridDimX,       other.gridDimY,     other.gridDimZ, other.blockDimX, other.blockDimY,
            other.blockDimZ, other.sharedMemBytes, other.kernelParams, other.extra,    other.kern,      other.ctx};
}

/// A child node has a clone of the graph that it is given.
CUresult child_work(CUgraph handle, Driver& state, Work& work) {
    const std::shared_ptr<Graph> graph = find_graph(handle, state);
    if (graph == nullptr || graph->captured) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    ChildWork child{clone_graph(*graph, state, true)};
    child.graph->owned = true;
    work = std::move(child);
    return CUDA_SUCCESS;
}

/// A node added to a graph; `make` fills its work in, in the current context.
template <typename Make>
CUresult add(CUgraphNode* handle, CUgraph graph_handle, const CUgraphNode* dependencies, std::size_t count,
             const Make& make) noexcept {
    return entry_in_context([&](Driver& state, DriverContext& context) -> CUresult {
        const std::lock_guard lock(graphs_mutex());
        const std::shared_ptr<Graph> graph = find_graph(graph_handle, state);
        if (handle == nullptr || graph == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        std::vector<GraphNode*> before;
        Work work;
        CUresult error = read_nodes(dependencies, count, *graph, state, before);
        if (error == CUDA_SUCCESS) {
            error = make(state, context, work);
        }
        if (error != CUDA_SUCCESS) {
            return error;
        }
        *handle = handle_of(add_node(*graph, std::move(work), std::move(before), state));
        return CUDA_SUCCESS;
    });
}

/// Other work for a node of the same type.
template <typename Make>
CUresult set(CUgraphNode handle, const Make& make) noexcept {
    return entry_in_context([&](Driver& state, DriverContext& context) -> CUresult {
        const std::lock_guard lock(graphs_mutex());
        const std::shared_ptr<GraphNode> node = find_node(handle, state);
        if (node == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        Work work;
        const CUresult error = make(state, context, work);
        if (error != CUDA_SUCCESS || type_of(work) != type_of(*node->work)) {
            return error != CUDA_SUCCESS ? error : CUDA_ERROR_INVALID_VALUE;
        }
        keep_cluster(*node->work, work);
        node->work = keep_work(std::move(work));
        return CUDA_SUCCESS;
    });
}

/// A node's work where it is of one type.
template <typename Kind, typename Read>
CUresult get(CUgraphNode handle, const Read& read) noexcept {
    return entry([&](Driver& state) -> CUresult {
        const std::lock_guard lock(graphs_mutex());
        const std::shared_ptr<GraphNode> node = find_node(handle, state);
        const Kind* const work = node == nullptr ? nullptr : std::get_if<Kind>(node->work.get());
        return work == nullptr ? CUDA_ERROR_INVALID_VALUE : read(*work);
    });
}

/// Makers of work from the parameters of a call, which may be null.
auto from_kernel(const CUDA_KERNEL_NODE_PARAMS* parameters) {
    return [=](Driver&, DriverContext& context, Work& work) {
        return parameters == nullptr ? CUDA_ERROR_INVALID_VALUE : kernel_work(*parameters, context, work);
    };
}

auto from_kernel(const CUDA_KERNEL_NODE_PARAMS_v1* parameters) {
    return [=](Driver&, DriverContext& context, Work& work) {
        return parameters == nullptr ? CUDA_ERROR_INVALID_VALUE : kernel_work(widen(*parameters), context, work);
    };
}

auto from_copy(const CUDA_MEMCPY3D* parameters) {
    return [=](Driver&, DriverContext&, Work& work) {
        if (parameters == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        work = CopyWork{*parameters};
        return check_copy(*parameters);
    };
}

auto from_fill(const CUDA_MEMSET_NODE_PARAMS* parameters) {
    return [=](Driver&, DriverContext&, Work& work) {
        if (parameters == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        work = FillWork{*parameters};
        return check_fill(*parameters);
    };
}

auto from_host(const CUDA_HOST_NODE_PARAMS* parameters) {
    return [=](Driver&, DriverContext&, Work& work) {
        if (parameters == nullptr || parameters->fn == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        work = HostWork{parameters->fn, parameters->userData};
        return CUDA_SUCCESS;
    };
}

auto from_any(const CUgraphNodeParams* parameters) {
    return [=](Driver& state, DriverContext& context, Work& work) {
        return parameters == nullptr ? CUDA_ERROR_INVALID_VALUE : node_work(*parameters, context, state, work);
    };
}

CUresult add_any(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, const CUgraphEdgeData* data,
                 std::size_t count, CUgraphNodeParams* parameters) {
    for (std::size_t index = 0; data != nullptr && index < count; ++index) {
        if (data[index].from_port != 0 || data[index].to_port != 0 || data[index].type != 0) {
            return CUDA_ERROR_NOT_SUPPORTED;
        }
    }
    const CUresult error = add(node, graph, dependencies, count, from_any(parameters));
    if (error == CUDA_SUCCESS && parameters->type == CU_GRAPH_NODE_TYPE_GRAPH) {
        return cuGraphChildGraphNodeGetGraph(*node, &parameters->graph.graph);
    }
    return error;
}

bool is_zero(const long long* words, std::size_t count) {
    for (std::size_t index = 0; index < count; ++index) {
        if (words[index] != 0) {
            return false;
        }
    }
    return true;
}

}  // namespace

CUresult node_work(const CUgraphNodeParams& parameters, DriverContext& context, Driver& state, Work& work) {
    if (parameters.reserved2 != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    switch (parameters.type) {
        case CU_GRAPH_NODE_TYPE_KERNEL:
            return kernel_work(widen(parameters.kernel), context, work);
        case CU_GRAPH_NODE_TYPE_MEMCPY:
            return from_copy(&parameters.memcpy.copyParams)(state, context, work);
        case CU_GRAPH_NODE_TYPE_MEMSET: {
            const CUDA_MEMSET_NODE_PARAMS_v2& fill = parameters.memset;
            const CUDA_MEMSET_NODE_PARAMS plain{fill.dst,         fill.pitch, fill.value,
                                                fill.elementSize, fill.width, fill.height};
            return from_fill(&plain)(state, context, work);
        }
        case CU_GRAPH_NODE_TYPE_HOST: {
            const CUDA_HOST_NODE_PARAMS plain{parameters.host.fn, parameters.host.userData};
            return from_host(&plain)(state, context, work);
        }
        case CU_GRAPH_NODE_TYPE_GRAPH:
            return child_work(parameters.graph.graph, state, work);
        case CU_GRAPH_NODE_TYPE_EMPTY:
            work = EmptyWork{};
            return is_zero(parameters.reserved1, std::size(parameters.reserved1)) ? CUDA_SUCCESS
                                                                                  : CUDA_ERROR_INVALID_VALUE;
        case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        case CU_GRAPH_NODE_TYPE_EVENT_RECORD: {
            const bool waits = parameters.type == CU_GRAPH_NODE_TYPE_WAIT_EVENT;
            std::shared_ptr<Event> event =
                state.events.find(waits ? parameters.eventWait.event : parameters.eventRecord.event);
            if (event == nullptr) {
                return CUDA_ERROR_INVALID_HANDLE;
            }
            work = waits ? Work(WaitEventWork{std::move(event)}) : Work(RecordEventWork{std::move(event)});
            return CUDA_SUCCESS;
        }
        default:
            report("a graph node of type " + std::to_string(static_cast<int>(parameters.type)) +
                   " (semaphores, owned memory, conditions), which the simulated GPU has not got");
            return CUDA_ERROR_NOT_SUPPORTED;
    }
}

}  // namespace egpu::simulated

using namespace egpu::simulated;

CUresult cuGraphAddKernelNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                              const CUDA_KERNEL_NODE_PARAMS_v1* parameters) {
    return add(node, graph, dependencies, count, from_kernel(parameters));
}
CUresult cuGraphAddKernelNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                                 const CUDA_KERNEL_NODE_PARAMS* parameters) {
    return add(node, graph, dependencies, count, from_kernel(parameters));
}
CUresult cuGraphAddMemcpyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                              const CUDA_MEMCPY3D* parameters, CUcontext) {
    return add(node, graph, dependencies, count, from_copy(parameters));
}
CUresult cuGraphAddMemsetNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                              const CUDA_MEMSET_NODE_PARAMS* parameters, CUcontext) {
    return add(node, graph, dependencies, count, from_fill(parameters));
}
CUresult cuGraphAddHostNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                            const CUDA_HOST_NODE_PARAMS* parameters) {
    return add(node, graph, dependencies, count, from_host(parameters));
}
CUresult cuGraphAddEmptyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count) {
    return add(node, graph, dependencies, count, [](Driver&, DriverContext&, Work& work) {
        work = EmptyWork{};
        return CUDA_SUCCESS;
    });
}
CUresult cuGraphAddChildGraphNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                                  CUgraph child) {
    return add(node, graph, dependencies, count,
               [&](Driver& state, DriverContext&, Work& work) { return child_work(child, state, work); });
}
CUresult cuGraphAddNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                        CUgraphNodeParams* parameters) {
    return add_any(node, graph, dependencies, nullptr, count, parameters);
}
CUresult cuGraphAddNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                           const CUgraphEdgeData* data, size_t count, CUgraphNodeParams* parameters) {
    return add_any(node, graph, dependencies, data, count, parameters);
}

CUresult cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1* parameters) {
    return get<KernelWork>(node, [&](const KernelWork& work) -> CUresult {
        if (parameters == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        const CUDA_KERNEL_NODE_PARAMS all = kernel_parameters(work);
        *parameters = {all.func,      all.gridDimX,  all.gridDimY,       all.gridDimZ,     all.blockDimX,
                       all.blockDimY, all.blockDimZ, all.sharedMemBytes, all.kernelParams, all.extra};
        return CUDA_SUCCESS;
    });
}
CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS* parameters) {
    return get<KernelWork>(node, [&](const KernelWork& work) -> CUresult {
        if (parameters == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        *parameters = kernel_parameters(work);
        return CUDA_SUCCESS;
    });
}
CUresult cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1* parameters) {
    return set(node, from_kernel(parameters));
}
CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* parameters) {
    return set(node, from_kernel(parameters));
}

CUresult cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D* parameters) {
    return get<CopyWork>(node, [&](const CopyWork& work) -> CUresult {
        if (parameters == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        *parameters = work.copy;
        return CUDA_SUCCESS;
    });
}
CUresult cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D* parameters) {
    return set(node, from_copy(parameters));
}
CUresult cuGraphMemsetNodeGetParams(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS* parameters) {
    return get<FillWork>(node, [&](const FillWork& work) -> CUresult {
        if (parameters == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        *parameters = work.fill;
        return CUDA_SUCCESS;
    });
}
CUresult cuGraphMemsetNodeSetParams(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* parameters) {
    return set(node, from_fill(parameters));
}
CUresult cuGraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS* parameters) {
    return get<HostWork>(node, [&](const HostWork& work) -> CUresult {
        if (parameters == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        *parameters = {work.function, work.data};
        return CUDA_SUCCESS;
    });
}
CUresult cuGraphHostNodeSetParams(CUgraphNode node, const CUDA_HOST_NODE_PARAMS* parameters) {
    return set(node, from_host(parameters));
}
CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph* graph) {
    return get<ChildWork>(node, [&](const ChildWork& work) -> CUresult {
        if (graph == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        *graph = handle_of(work.graph.get());
        return CUDA_SUCCESS;
    });
}
CUresult cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams* parameters) {
    if (parameters != nullptr && parameters->type == CU_GRAPH_NODE_TYPE_GRAPH) {
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    return set(node, from_any(parameters));
}
