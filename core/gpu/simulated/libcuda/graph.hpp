// SPDX-License-Identifier: Apache-2.0
// Graphs and their instances.
//
// A graph's nodes are kept in the order in which they were added; getters give them so. An instance has a graph of its
// own, a clone, whose nodes remember which node they were made from: that is how a node's handle names its twin in an
// instance. Work is never changed in place, so a launch in progress goes on with what it began with.
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "gpu/simulated/libcuda/work.hpp"

namespace egpu::simulated {

struct GraphNode {
    Graph* graph = nullptr;
    std::uint64_t id = 0;      ///< of the process, never used again
    std::uint64_t origin = 0;  ///< the id of the node it was cloned from; 0: of none
    std::shared_ptr<const Work> work;
    std::vector<GraphNode*> dependencies;
    std::uint64_t grid_id = 0;  ///< of a kernel in an instance: the same in every launch
    bool enabled = true;
};

struct Graph {
    std::vector<std::shared_ptr<GraphNode>> nodes;
    bool owned = false;     ///< a child node's: never destroyed by its handle
    bool captured = false;  ///< being made by a capture
    std::uint64_t id = 0;
    std::uint64_t origin = 0;  ///< the graph it was cloned from
};

/// A graph made executable.
struct GraphInstance {
    std::shared_ptr<Graph> graph;
    std::vector<GraphNode*> order;  ///< every node, those of child graphs too, after all it depends on
    std::unordered_map<std::uint64_t, GraphNode*> by_origin;
    cuuint64_t flags = 0;
    std::mutex changes;   ///< of works and switches
    std::mutex launches;  ///< one at a time
};

/// All graphs of the process are read and changed under this.
std::mutex& graphs_mutex();

// What follows is called with graphs_mutex() held.

/// Work as nodes have it.
std::shared_ptr<const Work> keep_work(Work work);
std::shared_ptr<Graph> make_graph(Driver& state);
/// Adds a node; null dependencies are refused by the caller.
GraphNode* add_node(Graph& graph, Work work, std::vector<GraphNode*> dependencies, Driver& state);
/// A copy; with handles of its own where `published`.
std::shared_ptr<Graph> clone_graph(const Graph& graph, Driver& state, bool published);
/// Takes the handles of a graph, its nodes and its child graphs away.
void retire_graph(const Graph& graph, Driver& state);
/// Every node after those it depends on, child graphs in their node's place; false where there is a circle.
bool flatten(const Graph& graph, std::vector<GraphNode*>& order);
/// True where `node` is one of `ends` or before one of them.
bool is_before(const GraphNode* node, const std::vector<GraphNode*>& ends);

/// The node behind a handle, or null; the graph behind a handle, or null.
std::shared_ptr<GraphNode> find_node(CUgraphNode handle, Driver& state);
std::shared_ptr<Graph> find_graph(CUgraph handle, Driver& state);

inline CUgraphNode handle_of(const GraphNode* node) {
    return reinterpret_cast<CUgraphNode>(const_cast<GraphNode*>(node));
}
inline CUgraph handle_of(const Graph* graph) {
    return reinterpret_cast<CUgraph>(const_cast<Graph*>(graph));
}

/// Reads an array of node handles of one graph, without repetitions.
CUresult read_nodes(const CUgraphNode* handles, std::size_t count, const Graph& graph, Driver& state,
                    std::vector<GraphNode*>& nodes);

/// Node parameters to work and back. `context` is where a node without one belongs.
CUresult kernel_work(const CUDA_KERNEL_NODE_PARAMS& parameters, DriverContext& context, Work& work);
CUDA_KERNEL_NODE_PARAMS kernel_parameters(const KernelWork& work);
CUresult node_work(const CUgraphNodeParams& parameters, DriverContext& context, Driver& state, Work& work);
/// Whether a node of an instance may take work in place of what it has.
bool may_replace(const Work& old, const Work& work);
/// The size of clusters is an attribute of a node, which new parameters leave as it is.
void keep_cluster(const Work& old, Work& work);

}  // namespace egpu::simulated
