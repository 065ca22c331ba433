// SPDX-License-Identifier: Apache-2.0
#include "agent/graphs/twin.hpp"

#include <algorithm>

#include "agent/driver/driver.hpp"

namespace egpu::agent {

namespace {

bool is_alike(const Node& one, const Node& other) {
    return one.kind == other.kind && one.kernel == other.kernel && one.copy == other.copy && one.end == other.end;
}

// A clone's nodes come in the order of the graph's; the driver has to say the same of those that it can be asked about
// (nodes inside child graphs are of other graphs).
bool pair_up(CUgraph twin, NodeList* nodes) {
    const auto find_in_clone = driver().cuGraphNodeFindInClone;
    NodeList cloned;
    cloned.read(twin);
    if (find_in_clone == nullptr || !cloned.complete() || cloned.size() != nodes->size() ||
        !std::equal(nodes->begin(), nodes->end(), cloned.begin(), is_alike))
        return false;
    std::uint32_t inside_until = 0;
    for (std::uint32_t i = 0; i < nodes->size(); ++i) {
        Node& node = nodes->begin()[i];
        CUgraphNode found = nullptr;
        node.twin = cloned.begin()[i].node;
        if (i < inside_until)
            continue;
        if (find_in_clone(&found, node.node, twin) != CUDA_SUCCESS || found != node.twin)
            return false;
        if (node.kind == Node::Kind::child)
            inside_until = node.end;
    }
    return true;
}

}  // namespace

CUgraph make_twin(CUgraph graph, NodeList* nodes) {
    const auto clone = driver().cuGraphClone;
    const bool any = std::any_of(nodes->begin(), nodes->end(), [](const Node& node) { return node.kernel != nullptr; });
    CUgraph twin = nullptr;
    if (!any || !nodes->complete() || !nodes->plain() || clone == nullptr || clone(&twin, graph) != CUDA_SUCCESS)
        return nullptr;
    if (pair_up(twin, nodes))
        return twin;
    free_twin(twin);
    return nullptr;
}

void free_twin(CUgraph twin) {
    if (twin != nullptr && driver().cuGraphDestroy != nullptr)
        driver().cuGraphDestroy(twin);
}

}  // namespace egpu::agent
