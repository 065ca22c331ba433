// SPDX-License-Identifier: Apache-2.0
// What the nodes of a graph run, as far as kernels are concerned.
#pragma once

#include <cstdint>

#include "agent/kernels/inventory.hpp"
#include "gpu/device/driver.h"

namespace egpu::agent {

/// A kernel's node, or a node around others. In the order of cuGraphGetNodes; what is in a child graph follows it.
struct Node {
    enum class Kind : std::uint8_t { kernel, child, unknown_body };
    CUgraphNode node = nullptr;
    CUgraphNode twin = nullptr;      ///< the same node in the instance's twin (twin.hpp)
    Kernel* kernel = nullptr;        ///< null: of no image that the agent saw
    CUfunction copy = nullptr;       ///< null: it holds the original
    CUfunction next_copy = nullptr;  ///< while an update is under way
    std::uint32_t place = kNoPlace;  ///< of its context
    std::uint32_t end = 0;           ///< of a child graph: index behind its last node
    Kind kind = Kind::kernel;
    bool enabled = true;
    bool changed = false;  ///< its parameters in the graph are not those of the instance any more, or it is gone
};

/// Nodes of one graph. Grows with malloc; what it can't hold makes it incomplete.
class NodeList {
public:
    NodeList() = default;
    ~NodeList();
    NodeList(const NodeList&) = delete;
    NodeList& operator=(const NodeList&) = delete;

    /// Appends the graph's nodes. Inside OwnCalls or a forwarded call.
    void read(CUgraph graph) { read(graph, 0); }
    Node* begin() { return nodes_; }
    Node* end() { return nodes_ + count_; }
    const Node* begin() const { return nodes_; }
    const Node* end() const { return nodes_ + count_; }
    std::uint32_t size() const { return count_; }
    /// False where memory was short, the driver refused an answer or child graphs lie too deep.
    bool complete() const { return complete_; }
    /// Only kernels, copies, fills, host functions, empty nodes and child graphs of such.
    bool plain() const { return plain_; }
    void swap(NodeList& other);
    /// Takes functions and kernels over from `other` for the nodes from `begin` to `end`; false where it doesn't have
    /// nodes of the same kinds in the same order.
    bool take_functions(std::uint32_t begin, std::uint32_t end, const NodeList& other);

private:
    void read(CUgraph graph, int depth);
    void read_node(CUgraphNode node, int depth);
    Node* append(const Node& node);

    Node* nodes_ = nullptr;
    std::uint32_t count_ = 0, room_ = 0;
    bool complete_ = true;
    bool plain_ = true;
};

/// What a kernel's node holds: fills kernel, copy and place. False where the driver doesn't say.
bool read_kernel_node(CUgraphNode node, Node* found);

/// Puts originals where nodes of the graph (child graphs included) hold copies. True where there were any.
bool put_originals_back(CUgraph graph);

}  // namespace egpu::agent
