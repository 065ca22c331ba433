// SPDX-License-Identifier: Apache-2.0
#include "agent/graphs/nodes.hpp"

#include <cstdlib>
#include <utility>

#include "agent/driver/driver.hpp"
#include "agent/graphs/recorded.hpp"
#include "segment/access/shared.hpp"
#include "segment/channel/messages.h"

namespace egpu::agent {

namespace {

constexpr int kDeepest = 32;  // child graphs in child graphs

bool is_plain(CUgraphNodeType type) {
    switch (type) {
        case CU_GRAPH_NODE_TYPE_KERNEL:
        case CU_GRAPH_NODE_TYPE_MEMCPY:
        case CU_GRAPH_NODE_TYPE_MEMSET:
        case CU_GRAPH_NODE_TYPE_HOST:
        case CU_GRAPH_NODE_TYPE_GRAPH:
        case CU_GRAPH_NODE_TYPE_EMPTY:
            return true;
        default:
            return false;
    }
}

}  // namespace

bool read_kernel_node(CUgraphNode node, Node* found) {
    const Driver& real = driver();
    CUfunction function = nullptr;
    CUkernel kernel = nullptr;
    CUcontext context = nullptr;
    if (real.cuGraphKernelNodeGetParams_v2 != nullptr) {
        CUDA_KERNEL_NODE_PARAMS params{};
        if (real.cuGraphKernelNodeGetParams_v2(node, &params) != CUDA_SUCCESS)
            return false;
        function = params.func;
        kernel = params.kern;
        context = params.ctx;
    } else {
        CUDA_KERNEL_NODE_PARAMS_v1 params{};
        if (real.cuGraphKernelNodeGetParams == nullptr ||
            real.cuGraphKernelNodeGetParams(node, &params) != CUDA_SUCCESS)
            return false;
        function = params.func;
    }
    const Recorded* of_copy = recorded(function);
    const Place* place = find_place(of_copy != nullptr ? of_copy->context : context);
    found->place = place != nullptr ? index_of(*place) : kNoPlace;
    if (of_copy != nullptr) {
        found->kernel = of_copy->kernel;
        found->copy = function;
        return true;
    }
    found->copy = nullptr;
    // Of a library's kernel the application may never have asked for the function.
    found->kernel = kernel != nullptr ? handles().find(kernel).kernel : nullptr;
    if (found->kernel == nullptr && function != nullptr)
        found->kernel = handles().find(function).kernel;
    return true;
}

bool put_originals_back(CUgraph graph) {
    const Driver& real = driver();
    NodeList nodes;
    nodes.read(graph);
    bool any = false;
    for (const Node* node = nodes.begin(); node != nodes.end(); ++node) {
        const Recorded* found = recorded(node->copy);
        CUDA_KERNEL_NODE_PARAMS params{};
        if (found == nullptr || real.cuGraphKernelNodeSetParams_v2 == nullptr ||
            real.cuGraphKernelNodeGetParams_v2(node->node, &params) != CUDA_SUCCESS)
            continue;
        params.func = found->original;
        params.kern = nullptr;
        segment::store_relaxed(found->kernel->counters->copy_reason, std::uint32_t{EGPU_COPY_LOAD_FAILED});
        any = real.cuGraphKernelNodeSetParams_v2(node->node, &params) == CUDA_SUCCESS || any;
    }
    return any;
}

NodeList::~NodeList() {
    std::free(nodes_);
}

void NodeList::swap(NodeList& other) {
    std::swap(nodes_, other.nodes_);
    std::swap(count_, other.count_);
    std::swap(room_, other.room_);
    std::swap(complete_, other.complete_);
    std::swap(plain_, other.plain_);
}

Node* NodeList::append(const Node& node) {
    if (count_ == room_) {
        const std::uint32_t room = room_ == 0 ? 16 : room_ * 2;
        void* grown = std::realloc(static_cast<void*>(nodes_), room * sizeof(Node));
        if (grown == nullptr) {
            complete_ = false;
            return nullptr;
        }
        nodes_ = static_cast<Node*>(grown);
        room_ = room;
    }
    nodes_[count_] = node;
    return &nodes_[count_++];
}

void NodeList::read_node(CUgraphNode node, int depth) {
    const Driver& real = driver();
    CUgraphNodeType type{};
    Node made;
    made.node = node;
    if (real.cuGraphNodeGetType(node, &type) != CUDA_SUCCESS) {
        complete_ = false;
        return;
    }
    plain_ = plain_ && is_plain(type);
    if (type == CU_GRAPH_NODE_TYPE_KERNEL) {
        if (!read_kernel_node(node, &made))
            complete_ = false;
        append(made);
    } else if (type == CU_GRAPH_NODE_TYPE_CONDITIONAL) {
        // Whether and how often its body runs is decided on the GPU.
        made.kind = Node::Kind::unknown_body;
        append(made);
    } else if (type == CU_GRAPH_NODE_TYPE_GRAPH) {
        made.kind = Node::Kind::child;
        const std::uint32_t index = count_;
        CUgraph inner = nullptr;
        if (append(made) == nullptr)
            return;
        if (real.cuGraphChildGraphNodeGetGraph != nullptr &&
            real.cuGraphChildGraphNodeGetGraph(node, &inner) == CUDA_SUCCESS)
            read(inner, depth + 1);
        else
            complete_ = false;
        nodes_[index].end = count_;
    }
}

void NodeList::read(CUgraph graph, int depth) {
    const Driver& real = driver();
    std::size_t count = 0;
    if (depth > kDeepest || real.cuGraphGetNodes == nullptr || real.cuGraphNodeGetType == nullptr ||
        real.cuGraphGetNodes(graph, nullptr, &count) != CUDA_SUCCESS) {
        complete_ = false;
        return;
    }
    if (count == 0)
        return;
    auto* nodes = static_cast<CUgraphNode*>(std::calloc(count, sizeof(CUgraphNode)));
    if (nodes != nullptr && real.cuGraphGetNodes(graph, nodes, &count) == CUDA_SUCCESS) {
        for (std::size_t i = 0; i < count; ++i)
            read_node(nodes[i], depth);
    } else {
        complete_ = false;
    }
    std::free(nodes);
}

bool NodeList::take_functions(std::uint32_t begin, std::uint32_t end, const NodeList& other) {
    if (!other.complete_ || other.count_ != end - begin)
        return false;
    for (std::uint32_t i = begin; i < end; ++i)
        if (nodes_[i].kind != other.nodes_[i - begin].kind)
            return false;
    for (std::uint32_t i = begin; i < end; ++i) {
        nodes_[i].kernel = other.nodes_[i - begin].kernel;
        nodes_[i].copy = other.nodes_[i - begin].copy;
    }
    return true;
}

}  // namespace egpu::agent
