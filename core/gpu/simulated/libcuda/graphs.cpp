// SPDX-License-Identifier: Apache-2.0
// Graphs: nodes, edges, copies of them.
#include <algorithm>
#include <functional>
#include <unordered_map>

#include "gpu/simulated/libcuda/graph.hpp"

namespace egpu::simulated {

std::mutex& graphs_mutex() {
    static std::mutex* const mutex = new std::mutex;
    return *mutex;
}

std::shared_ptr<const Work> keep_work(Work work) {
    if (auto* const kernel = std::get_if<KernelWork>(&work)) {
        point_to_parameters(*kernel);
    }
    return std::make_shared<const Work>(std::move(work));
}

std::shared_ptr<Graph> make_graph(Driver& state) {
    auto graph = std::make_shared<Graph>();
    graph->id = state.next_id++;
    state.graphs.add(graph);
    return graph;
}

GraphNode* add_node(Graph& graph, Work work, std::vector<GraphNode*> dependencies, Driver& state) {
    auto node = std::make_shared<GraphNode>();
    node->graph = &graph;
    node->id = state.next_id++;
    node->work = keep_work(std::move(work));
    node->dependencies = std::move(dependencies);
    graph.nodes.push_back(node);
    state.nodes.add(node);
    return node.get();
}

std::shared_ptr<Graph> clone_graph(const Graph& graph, Driver& state, bool published) {
    auto clone = std::make_shared<Graph>();
    clone->id = state.next_id++;
    clone->origin = graph.id;
    std::unordered_map<const GraphNode*, GraphNode*> twins;
    for (const std::shared_ptr<GraphNode>& node : graph.nodes) {
        auto twin = std::make_shared<GraphNode>(*node);
        twin->graph = clone.get();
        twin->id = state.next_id++;
        twin->origin = node->id;
        if (const auto* child = std::get_if<ChildWork>(node->work.get())) {
            ChildWork inner{clone_graph(*child->graph, state, published)};
            inner.graph->owned = true;
            twin->work = std::make_shared<const Work>(std::move(inner));
        }
        twins[node.get()] = twin.get();
        clone->nodes.push_back(std::move(twin));
    }
    for (const std::shared_ptr<GraphNode>& twin : clone->nodes) {
        for (GraphNode*& dependency : twin->dependencies) {
            dependency = twins.at(dependency);
        }
        if (published) {
            state.nodes.add(twin);
        }
    }
    if (published) {
        state.graphs.add(clone);
    }
    return clone;
}

void retire_graph(const Graph& graph, Driver& state) {
    for (const std::shared_ptr<GraphNode>& node : graph.nodes) {
        state.nodes.remove(node.get());
        if (const auto* child = std::get_if<ChildWork>(node->work.get())) {
            retire_graph(*child->graph, state);
        }
    }
    state.graphs.remove(&graph);
}

bool flatten(const Graph& graph, std::vector<GraphNode*>& order) {
    std::unordered_map<const GraphNode*, std::size_t> waiting;
    std::unordered_map<const GraphNode*, std::vector<GraphNode*>> dependents;
    std::vector<GraphNode*> ready;
    for (const std::shared_ptr<GraphNode>& node : graph.nodes) {
        waiting[node.get()] = node->dependencies.size();
        for (const GraphNode* dependency : node->dependencies) {
            dependents[dependency].push_back(node.get());
        }
        if (node->dependencies.empty()) {
            ready.push_back(node.get());
        }
    }
    std::size_t done = 0;
    while (done < ready.size()) {
        GraphNode* const node = ready[done++];
        order.push_back(node);
        const auto* child = std::get_if<ChildWork>(node->work.get());
        if (child != nullptr && !flatten(*child->graph, order)) {
            return false;
        }
        for (GraphNode* dependent : dependents[node]) {
            if (--waiting[dependent] == 0) {
                ready.push_back(dependent);
            }
        }
    }
    return done == graph.nodes.size();
}

bool is_before(const GraphNode* node, const std::vector<GraphNode*>& ends) {
    std::vector<const GraphNode*> open(ends.begin(), ends.end());
    std::unordered_map<const GraphNode*, bool> seen;
    while (!open.empty()) {
        const GraphNode* const next = open.back();
        open.pop_back();
        if (next == node) {
            return true;
        }
        if (!seen.emplace(next, true).second) {
            continue;
        }
        open.insert(open.end(), next->dependencies.begin(), next->dependencies.end());
    }
    return false;
}

std::shared_ptr<GraphNode> find_node(CUgraphNode handle, Driver& state) {
    return state.nodes.find(handle);
}

std::shared_ptr<Graph> find_graph(CUgraph handle, Driver& state) {
    return state.graphs.find(handle);
}

CUresult read_nodes(const CUgraphNode* handles, std::size_t count, const Graph& graph, Driver& state,
                    std::vector<GraphNode*>& nodes) {
    if (count > 0 && handles == nullptr) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    for (std::size_t index = 0; index < count; ++index) {
        const std::shared_ptr<GraphNode> node = find_node(handles[index], state);
        if (node == nullptr || node->graph != &graph ||
            std::find(nodes.begin(), nodes.end(), node.get()) != nodes.end()) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        nodes.push_back(node.get());
    }
    return CUDA_SUCCESS;
}

namespace {

/// Runs a body with the graph, or the node, behind a handle, while nobody else changes graphs.
template <typename Body>
CUresult with_graph(CUgraph handle, const Body& body) noexcept {
    return entry([&](Driver& state) -> CUresult {
        const std::lock_guard lock(graphs_mutex());
        const std::shared_ptr<Graph> graph = find_graph(handle, state);
        return graph == nullptr ? CUDA_ERROR_INVALID_VALUE : body(state, graph);
    });
}

template <typename Body>
CUresult with_node(CUgraphNode handle, const Body& body) noexcept {
    return entry([&](Driver& state) -> CUresult {
        const std::lock_guard lock(graphs_mutex());
        const std::shared_ptr<GraphNode> node = find_node(handle, state);
        return node == nullptr ? CUDA_ERROR_INVALID_VALUE : body(state, *node);
    });
}

/// The driver's way with lists: without a place for them, how many there are; else as many as fit, the rest null.
CUresult tell(const std::vector<GraphNode*>& nodes, CUgraphNode* handles, std::size_t* count) {
    if (count == nullptr) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (handles != nullptr) {
        for (std::size_t index = 0; index < *count; ++index) {
            handles[index] = index < nodes.size() ? handle_of(nodes[index]) : nullptr;
        }
    }
    *count = handles == nullptr ? nodes.size() : std::min(*count, nodes.size());
    return CUDA_SUCCESS;
}

std::vector<GraphNode*> dependents_of(const GraphNode& node) {
    std::vector<GraphNode*> found;
    for (const std::shared_ptr<GraphNode>& other : node.graph->nodes) {
        const auto& before = other->dependencies;
        if (std::find(before.begin(), before.end(), &node) != before.end()) {
            found.push_back(other.get());
        }
    }
    return found;
}

/// Edges carry no data here, so the place for it is filled with the default.
CUresult edges_of(CUgraph handle, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* data, std::size_t* count) {
    return with_graph(handle, [&](Driver&, const std::shared_ptr<Graph>& graph) -> CUresult {
        std::vector<GraphNode*> begins;
        std::vector<GraphNode*> ends;
        for (const std::shared_ptr<GraphNode>& node : graph->nodes) {
            for (GraphNode* dependency : node->dependencies) {
                begins.push_back(dependency);
                ends.push_back(node.get());
            }
        }
        if (count == nullptr || (from == nullptr) != (to == nullptr)) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        if (data != nullptr && from != nullptr) {
            std::fill_n(data, *count, CUgraphEdgeData{});
        }
        std::size_t same = *count;
        (void)tell(begins, from, &same);
        return tell(ends, to, count);
    });
}

template <typename Nodes>
CUresult neighbours(CUgraphNode handle, CUgraphNode* handles, CUgraphEdgeData* data, std::size_t* count,
                    const Nodes& nodes) {
    return with_node(handle, [&](Driver&, GraphNode& node) -> CUresult {
        if (count != nullptr && data != nullptr && handles != nullptr) {
            std::fill_n(data, *count, CUgraphEdgeData{});
        }
        return tell(nodes(node), handles, count);
    });
}

/// Edges of programmatic launches are refused: the default alone is known.
bool is_plain(const CUgraphEdgeData* data, std::size_t count) {
    for (std::size_t index = 0; data != nullptr && index < count; ++index) {
        if (data[index].from_port != 0 || data[index].to_port != 0 || data[index].type != 0) {
            report(
                std::string_view("an edge of a graph has data (a programmatic dependency), which the simulated GPU "
                                 "has not got"));
            return false;
        }
    }
    return true;
}

template <typename Change>
CUresult change_edges(CUgraph handle, const CUgraphNode* from, const CUgraphNode* to, const CUgraphEdgeData* data,
                      std::size_t count, const Change& change) {
    return with_graph(handle, [&](Driver& state, const std::shared_ptr<Graph>& graph) -> CUresult {
        if (count > 0 && (from == nullptr || to == nullptr)) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        if (!is_plain(data, count)) {
            return CUDA_ERROR_NOT_SUPPORTED;
        }
        for (std::size_t index = 0; index < count; ++index) {
            const std::shared_ptr<GraphNode> begin = find_node(from[index], state);
            const std::shared_ptr<GraphNode> end = find_node(to[index], state);
            if (begin == nullptr || end == nullptr || begin->graph != graph.get() || end->graph != graph.get() ||
                begin == end || !change(*end, begin.get())) {
                return CUDA_ERROR_INVALID_VALUE;
            }
        }
        return CUDA_SUCCESS;
    });
}

bool add_edge(GraphNode& end, GraphNode* begin) {
    if (std::find(end.dependencies.begin(), end.dependencies.end(), begin) != end.dependencies.end()) {
        return false;
    }
    end.dependencies.push_back(begin);
    return true;
}

bool remove_edge(GraphNode& end, GraphNode* begin) {
    return std::erase(end.dependencies, begin) > 0;
}

}  // namespace

}  // namespace egpu::simulated

using namespace egpu::simulated;

CUresult cuGraphCreate(CUgraph* handle, unsigned flags) {
    return entry([&](Driver& state) -> CUresult {
        if (handle == nullptr || flags != 0) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        const std::lock_guard lock(graphs_mutex());
        *handle = handle_of(make_graph(state).get());
        return CUDA_SUCCESS;
    });
}

CUresult cuGraphDestroy(CUgraph handle) {
    return with_graph(handle, [](Driver& state, const std::shared_ptr<Graph>& graph) -> CUresult {
        if (graph->owned || graph->captured) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        retire_graph(*graph, state);
        return CUDA_SUCCESS;
    });
}

CUresult cuGraphClone(CUgraph* clone, CUgraph handle) {
    return with_graph(handle, [&](Driver& state, const std::shared_ptr<Graph>& graph) -> CUresult {
        if (clone == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        *clone = handle_of(clone_graph(*graph, state, true).get());
        return CUDA_SUCCESS;
    });
}

CUresult cuGraphNodeFindInClone(CUgraphNode* found, CUgraphNode node_handle, CUgraph clone_handle) {
    return with_graph(clone_handle, [&](Driver& state, const std::shared_ptr<Graph>& clone) -> CUresult {
        const std::shared_ptr<GraphNode> node = find_node(node_handle, state);
        if (found == nullptr || node == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        for (const std::shared_ptr<GraphNode>& twin : clone->nodes) {
            if (twin->origin == node->id) {
                *found = handle_of(twin.get());
                return CUDA_SUCCESS;
            }
        }
        return CUDA_ERROR_INVALID_VALUE;
    });
}

CUresult cuGraphDestroyNode(CUgraphNode handle) {
    return with_node(handle, [](Driver& state, GraphNode& node) -> CUresult {
        Graph& graph = *node.graph;
        if (graph.captured) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        for (const std::shared_ptr<GraphNode>& other : graph.nodes) {
            std::erase(other->dependencies, &node);
        }
        if (const auto* child = std::get_if<ChildWork>(node.work.get())) {
            retire_graph(*child->graph, state);
        }
        state.nodes.remove(&node);
        std::erase_if(graph.nodes, [&](const auto& one) { return one.get() == &node; });
        return CUDA_SUCCESS;
    });
}

CUresult cuGraphGetNodes(CUgraph handle, CUgraphNode* nodes, size_t* count) {
    return with_graph(handle, [&](Driver&, const std::shared_ptr<Graph>& graph) -> CUresult {
        std::vector<GraphNode*> all;
        for (const std::shared_ptr<GraphNode>& node : graph->nodes) {
            all.push_back(node.get());
        }
        return tell(all, nodes, count);
    });
}

CUresult cuGraphGetRootNodes(CUgraph handle, CUgraphNode* nodes, size_t* count) {
    return with_graph(handle, [&](Driver&, const std::shared_ptr<Graph>& graph) -> CUresult {
        std::vector<GraphNode*> roots;
        for (const std::shared_ptr<GraphNode>& node : graph->nodes) {
            if (node->dependencies.empty()) {
                roots.push_back(node.get());
            }
        }
        return tell(roots, nodes, count);
    });
}

CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode* from, CUgraphNode* to, size_t* count) {
    return edges_of(graph, from, to, nullptr, count);
}
CUresult cuGraphGetEdges_v2(CUgraph graph, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* data, size_t* count) {
    return edges_of(graph, from, to, data, count);
}

CUresult cuGraphNodeGetType(CUgraphNode handle, CUgraphNodeType* type) {
    return with_node(handle, [&](Driver&, GraphNode& node) -> CUresult {
        if (type == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        *type = type_of(*node.work);
        return CUDA_SUCCESS;
    });
}

CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode* nodes, size_t* count) {
    return cuGraphNodeGetDependencies_v2(node, nodes, nullptr, count);
}
CUresult cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode* nodes, CUgraphEdgeData* data, size_t* count) {
    return neighbours(node, nodes, data, count, [](const GraphNode& one) { return one.dependencies; });
}
CUresult cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode* nodes, size_t* count) {
    return cuGraphNodeGetDependentNodes_v2(node, nodes, nullptr, count);
}
CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode node, CUgraphNode* nodes, CUgraphEdgeData* data, size_t* count) {
    return neighbours(node, nodes, data, count, dependents_of);
}

CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, size_t count) {
    return change_edges(graph, from, to, nullptr, count, add_edge);
}
CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                   const CUgraphEdgeData* data, size_t count) {
    return change_edges(graph, from, to, data, count, add_edge);
}
CUresult cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, size_t count) {
    return change_edges(graph, from, to, nullptr, count, remove_edge);
}
CUresult cuGraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                      const CUgraphEdgeData* data, size_t count) {
    return change_edges(graph, from, to, data, count, remove_edge);
}
