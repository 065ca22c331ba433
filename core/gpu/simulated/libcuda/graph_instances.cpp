// SPDX-License-Identifier: Apache-2.0
// Instances of graphs: made, changed, launched.
#include <algorithm>

#include "gpu/simulated/libcuda/streams.hpp"

namespace egpu::simulated {

namespace {

/// A kernel's node gets its grid's number here and keeps it over all launches, as on a GPU.
std::shared_ptr<GraphInstance> make_instance(const Graph& graph, Driver& state) {
    auto instance = std::make_shared<GraphInstance>();
    instance->graph = clone_graph(graph, state, false);
    if (!flatten(*instance->graph, instance->order)) {
        return nullptr;
    }
    for (GraphNode* node : instance->order) {
        instance->by_origin[node->origin] = node;
        if (type_of(*node->work) == CU_GRAPH_NODE_TYPE_KERNEL) {
            node->grid_id = ++state.launches;
        }
    }
    return instance;
}

CUresult instantiate(CUgraphExec* handle, CUgraph graph_handle, unsigned long long flags) {
    return entry_that_waits([&](Driver& state, DriverContext&) -> CUresult {
        constexpr unsigned long long taken = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH |
                                             CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |
                                             CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
        const std::lock_guard lock(graphs_mutex());
        const std::shared_ptr<Graph> graph = find_graph(graph_handle, state);
        if (handle == nullptr || graph == nullptr || graph->captured) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        if ((flags & ~taken) != 0) {
            report(std::string_view("a graph is to be launched from the device, which the simulated GPU has not got"));
            return CUDA_ERROR_NOT_SUPPORTED;
        }
        const std::shared_ptr<GraphInstance> instance = make_instance(*graph, state);
        if (instance == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        instance->flags = flags;
        state.instances.add(instance);
        *handle = reinterpret_cast<CUgraphExec>(instance.get());
        return CUDA_SUCCESS;
    });
}

CUresult instantiate_with(CUgraphExec* handle, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS* parameters) {
    if (parameters == nullptr) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const CUresult error = instantiate(handle, graph, parameters->flags);
    parameters->hErrNode_out = nullptr;
    parameters->result_out = error == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS : CUDA_GRAPH_INSTANTIATE_ERROR;
    return error;
}

CUresult instantiate_with_log(CUgraphExec* handle, CUgraph graph, CUgraphNode* error_node, char* log,
                              std::size_t bytes) {
    if (error_node != nullptr) {
        *error_node = nullptr;
    }
    if (log != nullptr && bytes > 0) {
        *log = '\0';
    }
    return instantiate(handle, graph, 0);
}

/// Runs a body with the twin in an instance of a node of the graph that it was made from.
template <typename Body>
CUresult with_twin(CUgraphExec handle, CUgraphNode node_handle, const Body& body) noexcept {
    return entry_in_context([&](Driver& state, DriverContext& context) -> CUresult {
        const std::lock_guard lock(graphs_mutex());
        const std::shared_ptr<GraphInstance> instance = state.instances.find(handle);
        const std::shared_ptr<GraphNode> node = find_node(node_handle, state);
        if (instance == nullptr || node == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        const auto found = instance->by_origin.find(node->id);
        if (found == instance->by_origin.end()) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        return body(state, context, *instance, *found->second);
    });
}

CUresult replace(GraphInstance& instance, GraphNode& twin, Work work) {
    if (!may_replace(*twin.work, work)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    keep_cluster(*twin.work, work);
    const std::lock_guard lock(instance.changes);
    twin.work = keep_work(std::move(work));
    return CUDA_SUCCESS;
}

/// Why an instance can't become what a graph is.
struct Difference {
    CUgraphExecUpdateResult result = CU_GRAPH_EXEC_UPDATE_SUCCESS;
    const GraphNode* node = nullptr;  ///< of the new graph
};

std::size_t position(const Graph& graph, const GraphNode* node) {
    const auto found =
        std::find_if(graph.nodes.begin(), graph.nodes.end(), [&](const auto& one) { return one.get() == node; });
    return static_cast<std::size_t>(found - graph.nodes.begin());
}

bool same_edges(const Graph& old, const GraphNode& old_node, const Graph& graph, const GraphNode& node) {
    if (old_node.dependencies.size() != node.dependencies.size()) {
        return false;
    }
    std::vector<std::size_t> old_positions;
    std::vector<std::size_t> positions;
    for (std::size_t index = 0; index < node.dependencies.size(); ++index) {
        old_positions.push_back(position(old, old_node.dependencies[index]));
        positions.push_back(position(graph, node.dependencies[index]));
    }
    std::sort(old_positions.begin(), old_positions.end());
    std::sort(positions.begin(), positions.end());
    return old_positions == positions;
}

using Pairs = std::vector<std::pair<GraphNode*, const GraphNode*>>;

/// Pairs the nodes of an instance with those of a graph, by the order in which they were added.
Difference compare(const Graph& old, const Graph& graph, Pairs& pairs) {
    if (old.nodes.size() != graph.nodes.size()) {
        return {CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, nullptr};
    }
    for (std::size_t index = 0; index < graph.nodes.size(); ++index) {
        GraphNode& old_node = *old.nodes[index];
        const GraphNode& node = *graph.nodes[index];
        if (!same_edges(old, old_node, graph, node)) {
            return {CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, &node};
        }
        if (type_of(*old_node.work) != type_of(*node.work)) {
            return {CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED, &node};
        }
        if (!may_replace(*old_node.work, *node.work)) {
            const bool kernel = type_of(*node.work) == CU_GRAPH_NODE_TYPE_KERNEL;
            return {kernel ? CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE
                           : CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED,
                    &node};
        }
        if (const auto* child = std::get_if<ChildWork>(node.work.get())) {
            const Difference inner = compare(*std::get<ChildWork>(*old_node.work).graph, *child->graph, pairs);
            if (inner.result != CU_GRAPH_EXEC_UPDATE_SUCCESS) {
                return inner;
            }
        } else {
            pairs.emplace_back(&old_node, &node);
        }
    }
    return {};
}

void take(GraphInstance& instance, const Pairs& pairs) {
    const std::lock_guard lock(instance.changes);
    for (const auto& pair : pairs) {
        pair.first->work = pair.second->work;
    }
}

CUresult update(CUgraphExec handle, CUgraph graph_handle, CUgraphExecUpdateResultInfo* info) {
    return entry_in_context([&](Driver& state, DriverContext&) -> CUresult {
        const std::lock_guard lock(graphs_mutex());
        const std::shared_ptr<GraphInstance> instance = state.instances.find(handle);
        const std::shared_ptr<Graph> graph = find_graph(graph_handle, state);
        if (info == nullptr || instance == nullptr || graph == nullptr || graph->captured) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        Pairs pairs;
        const Difference difference = compare(*instance->graph, *graph, pairs);
        *info = {difference.result, handle_of(difference.node), nullptr};
        if (difference.result != CU_GRAPH_EXEC_UPDATE_SUCCESS) {
            return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
        }
        take(*instance, pairs);
        return CUDA_SUCCESS;
    });
}

/// A node as a launch found it: changes made meanwhile are for the next one.
struct Step {
    std::shared_ptr<const Work> work;
    std::uint64_t grid_id;
};

std::vector<Step> steps_of(GraphInstance& instance) {
    const std::lock_guard lock(instance.changes);
    std::vector<Step> steps;
    steps.reserve(instance.order.size());
    for (const GraphNode* node : instance.order) {
        if (node->enabled) {
            steps.push_back({node->work, node->grid_id});
        }
    }
    return steps;
}

CUresult run_steps(const std::vector<Step>& steps, const DriverContext& context, Driver& state) {
    for (const Step& step : steps) {
        const CUresult error = run_work(*step.work, step.grid_id, state);
        if (error != CUDA_SUCCESS) {
            return error;
        }
        if (context.sticky != CUDA_SUCCESS) {
            break;  // the error shows at the next call
        }
    }
    return CUDA_SUCCESS;
}

/// Nodes run one after the other, each after those it depends on.
CUresult launch(CUgraphExec handle, CUstream stream, DefaultStream zero) {
    return on_stream(stream, zero, [&](Driver& state, DriverContext& context, Stream&) -> CUresult {
        const std::shared_ptr<GraphInstance> instance = state.instances.find(handle);
        if (instance == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        const std::lock_guard one_at_a_time(instance->launches);
        return run_steps(steps_of(*instance), context, state);
    });
}

CUresult upload(CUgraphExec handle, CUstream stream, DefaultStream zero) {
    return on_stream(stream, zero, [&](Driver& state, DriverContext&, Stream&) -> CUresult {
        return state.instances.find(handle) == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    });
}

/// Parameters of one type as those of a node of any type.
template <typename Fill>
CUresult set_any(CUgraphExec instance, CUgraphNode node, CUgraphNodeType type, const void* given, const Fill& fill) {
    if (given == nullptr) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    CUgraphNodeParams parameters{};
    parameters.type = type;
    fill(parameters);
    return cuGraphExecNodeSetParams(instance, node, &parameters);
}

}  // namespace

}  // namespace egpu::simulated

using namespace egpu::simulated;

CUresult cuGraphInstantiate(CUgraphExec* instance, CUgraph graph, CUgraphNode* error_node, char* log, size_t bytes) {
    return instantiate_with_log(instance, graph, error_node, log, bytes);
}
CUresult cuGraphInstantiate_v2(CUgraphExec* instance, CUgraph graph, CUgraphNode* error_node, char* log, size_t bytes) {
    return instantiate_with_log(instance, graph, error_node, log, bytes);
}
CUresult cuGraphInstantiateWithFlags(CUgraphExec* instance, CUgraph graph, unsigned long long flags) {
    return instantiate(instance, graph, flags);
}
CUresult cuGraphInstantiateWithParams(CUgraphExec* instance, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS* parameters) {
    return instantiate_with(instance, graph, parameters);
}
CUresult cuGraphInstantiateWithParams_ptsz(CUgraphExec* instance, CUgraph graph,
                                           CUDA_GRAPH_INSTANTIATE_PARAMS* parameters) {
    return instantiate_with(instance, graph, parameters);
}

CUresult cuGraphExecGetFlags(CUgraphExec handle, cuuint64_t* flags) {
    return entry([&](Driver& state) -> CUresult {
        const std::shared_ptr<GraphInstance> instance = state.instances.find(handle);
        if (flags == nullptr || instance == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        *flags = instance->flags;
        return CUDA_SUCCESS;
    });
}

CUresult cuGraphExecDestroy(CUgraphExec handle) {
    return entry([&](Driver& state) -> CUresult {
        if (const CUresult error = check_waiting(state); error != CUDA_SUCCESS) {
            return error;
        }
        // A launch in progress keeps what it needs.
        return state.instances.remove(handle) == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    });
}

CUresult cuGraphExecKernelNodeSetParams(CUgraphExec instance, CUgraphNode node,
                                        const CUDA_KERNEL_NODE_PARAMS_v1* given) {
    return set_any(instance, node, CU_GRAPH_NODE_TYPE_KERNEL, given, [&](CUgraphNodeParams& parameters) {
        parameters.kernel = {given->func,         given->gridDimX,  given->gridDimY,  given->gridDimZ,
                             given->blockDimX,    given->blockDimY, given->blockDimZ, given->sharedMemBytes,
                             given->kernelParams, given->extra,     nullptr,          nullptr};
    });
}
CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec instance, CUgraphNode node,
                                           const CUDA_KERNEL_NODE_PARAMS* given) {
    return set_any(instance, node, CU_GRAPH_NODE_TYPE_KERNEL, given, [&](CUgraphNodeParams& parameters) {
        parameters.kernel = {given->func,         given->gridDimX,  given->gridDimY,  given->gridDimZ,
                             given->blockDimX,    given->blockDimY, given->blockDimZ, given->sharedMemBytes,
                             given->kernelParams, given->extra,     given->kern,      given->ctx};
    });
}
CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec instance, CUgraphNode node, const CUDA_MEMCPY3D* given, CUcontext) {
    return set_any(instance, node, CU_GRAPH_NODE_TYPE_MEMCPY, given,
                   [&](CUgraphNodeParams& parameters) { parameters.memcpy.copyParams = *given; });
}
CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec instance, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* given,
                                        CUcontext) {
    return set_any(instance, node, CU_GRAPH_NODE_TYPE_MEMSET, given, [&](CUgraphNodeParams& parameters) {
        parameters.memset = {given->dst,   given->pitch,  given->value, given->elementSize,
                             given->width, given->height, nullptr};
    });
}
CUresult cuGraphExecHostNodeSetParams(CUgraphExec instance, CUgraphNode node, const CUDA_HOST_NODE_PARAMS* given) {
    return set_any(instance, node, CU_GRAPH_NODE_TYPE_HOST, given, [&](CUgraphNodeParams& parameters) {
        parameters.host = {given->fn, given->userData};
    });
}

CUresult cuGraphExecNodeSetParams(CUgraphExec instance, CUgraphNode node, CUgraphNodeParams* parameters) {
    if (parameters == nullptr || parameters->type == CU_GRAPH_NODE_TYPE_GRAPH) {
        return parameters == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NOT_SUPPORTED;
    }
    return with_twin(instance, node,
                     [&](Driver& state, DriverContext& context, GraphInstance& found, GraphNode& twin) -> CUresult {
                         Work work;
                         const CUresult error = node_work(*parameters, context, state, work);
                         return error != CUDA_SUCCESS ? error : replace(found, twin, std::move(work));
                     });
}

/// The graph has to be as the node's own one: its works are taken.
CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec instance, CUgraphNode node, CUgraph child) {
    return with_twin(instance, node,
                     [&](Driver& state, DriverContext&, GraphInstance& found, GraphNode& twin) -> CUresult {
                         const auto* own = std::get_if<ChildWork>(twin.work.get());
                         const std::shared_ptr<Graph> graph = find_graph(child, state);
                         Pairs pairs;
                         if (own == nullptr || graph == nullptr ||
                             compare(*own->graph, *graph, pairs).result != CU_GRAPH_EXEC_UPDATE_SUCCESS) {
                             return CUDA_ERROR_INVALID_VALUE;
                         }
                         take(found, pairs);
                         return CUDA_SUCCESS;
                     });
}

CUresult cuGraphNodeSetEnabled(CUgraphExec instance, CUgraphNode node, unsigned enabled) {
    return with_twin(instance, node, [&](Driver&, DriverContext&, GraphInstance& found, GraphNode& twin) -> CUresult {
        const CUgraphNodeType type = type_of(*twin.work);
        if (type != CU_GRAPH_NODE_TYPE_KERNEL && type != CU_GRAPH_NODE_TYPE_MEMCPY &&
            type != CU_GRAPH_NODE_TYPE_MEMSET) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        const std::lock_guard lock(found.changes);
        twin.enabled = enabled != 0;
        return CUDA_SUCCESS;
    });
}

CUresult cuGraphNodeGetEnabled(CUgraphExec instance, CUgraphNode node, unsigned* enabled) {
    return with_twin(instance, node, [&](Driver&, DriverContext&, GraphInstance&, GraphNode& twin) -> CUresult {
        if (enabled == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        *enabled = twin.enabled ? 1 : 0;
        return CUDA_SUCCESS;
    });
}

CUresult cuGraphExecUpdate(CUgraphExec instance, CUgraph graph, CUgraphNode* error_node,
                           CUgraphExecUpdateResult* result) {
    CUgraphExecUpdateResultInfo info{};
    const CUresult error = update(instance, graph, &info);
    if (error_node != nullptr) {
        *error_node = info.errorNode;
    }
    if (result != nullptr) {
        *result = info.result;
    }
    return error;
}
CUresult cuGraphExecUpdate_v2(CUgraphExec instance, CUgraph graph, CUgraphExecUpdateResultInfo* info) {
    return update(instance, graph, info);
}

CUresult cuGraphLaunch(CUgraphExec instance, CUstream stream) {
    return launch(instance, stream, DefaultStream::legacy);
}
CUresult cuGraphLaunch_ptsz(CUgraphExec instance, CUstream stream) {
    return launch(instance, stream, DefaultStream::per_thread);
}
CUresult cuGraphUpload(CUgraphExec instance, CUstream stream) {
    return upload(instance, stream, DefaultStream::legacy);
}
CUresult cuGraphUpload_ptsz(CUgraphExec instance, CUstream stream) {
    return upload(instance, stream, DefaultStream::per_thread);
}
