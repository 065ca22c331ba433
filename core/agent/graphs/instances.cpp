// SPDX-License-Identifier: Apache-2.0
#include "agent/graphs/instances.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>

#include "agent/driver/driver.hpp"
#include "agent/graphs/instance.hpp"
#include "agent/graphs/recorded.hpp"
#include "agent/graphs/twin.hpp"
#include "agent/session/session.hpp"
#include "segment/access/shared.hpp"

namespace egpu::agent {

namespace {

using segment::add_relaxed;

constexpr std::size_t kBuckets = 1024;

constinit Instance* buckets[kBuckets] = {};
constinit Block* retired_shares = nullptr;
constinit Block* retired_instances = nullptr;
constinit Mutex changing;
constinit int readers = 0;

Instance*& bucket_of(CUgraphExec handle) {
    const auto key = reinterpret_cast<std::uintptr_t>(handle);
    return buckets[(key * 0x9e3779b97f4a7c15u >> 32) % kBuckets];
}

void retire(Block** list, Block* block) {
    if (block == nullptr)
        return;
    block->next = *list;
    *list = block;
}

void free_retired() {
    if (__atomic_load_n(&readers, __ATOMIC_SEQ_CST) != 0)
        return;
    while (retired_shares != nullptr) {
        Block* block = retired_shares;
        retired_shares = block->next;
        std::free(static_cast<Shares*>(block));
    }
    while (retired_instances != nullptr) {
        auto* instance = static_cast<Instance*>(retired_instances);
        retired_instances = instance->next;
        std::free(instance->by_node);
        instance->~Instance();
        std::free(instance);
    }
}

// Of what launches of an instance run: into, or (`sign` -1) out of, the segment's figures of what graphs hold.
void book_holdings(Shares* shares, int sign) {
    if (shares == nullptr)
        return;
    const auto times = [sign](std::uint32_t count) { return sign > 0 ? count : 0 - count; };
    for (const Share& share : *shares) {
        add_relaxed(share.kernel->counters->graph_nodes, times(share.originals));
        if (share.copy_counters != nullptr)
            add_relaxed(share.copy_counters->graph_nodes, times(share.copies));
    }
}

void forget_twin(Instance* instance, egpu_graph_reason why) {
    if (instance->twin == nullptr)
        return;
    const OwnCalls own;
    free_twin(instance->twin);
    instance->twin = nullptr;
    instance->without_twin = why;
}

void forget_event(Instance* instance) {
    const OwnCalls own;
    if (instance->over != nullptr && driver().cuEventDestroy_v2 != nullptr)
        driver().cuEventDestroy_v2(instance->over);
    instance->over = nullptr;
}

void take_out(CUgraphExec handle) {
    for (Instance** link = &bucket_of(handle); *link != nullptr; link = &(*link)->in_bucket) {
        Instance* instance = *link;
        if (instance->handle != handle)
            continue;
        __atomic_store_n(link, instance->in_bucket, __ATOMIC_SEQ_CST);
        forget_twin(instance, EGPU_GRAPH_NO_SOURCE);
        forget_event(instance);
        book_holdings(instance->shares, -1);
        retire(&retired_shares, instance->shares);
        retire(&retired_instances, instance);
        break;
    }
    free_retired();
}

void add_share(Shares* shares, const Node& node) {
    if (node.kernel == nullptr) {
        ++shares->unknown;
        return;
    }
    Share* end = shares->items() + shares->count;
    Share* share = std::find_if(shares->items(), end, [&](const Share& one) {
        const bool same_copy = one.copy == nullptr || node.copy == nullptr || one.copy == node.copy;
        return one.kernel == node.kernel && one.place == node.place && same_copy;
    });
    if (share == end) {
        *share = {node.kernel, node.place, 0, 0, nullptr, kNothingTried, nullptr, EGPU_GRAPH_BUSY};
        ++shares->count;
    }
    ++(node.copy != nullptr ? share->copies : share->originals);
    if (node.copy == nullptr)
        return;
    share->copy = node.copy;
    if (const Recorded* held = recorded(node.copy); held != nullptr)
        share->copy_counters = held->counters;
}

void sort_by_node(Instance* instance) {
    const std::uint32_t count = instance->nodes.size();
    instance->by_node = static_cast<std::uint32_t*>(std::malloc((count + 1) * sizeof(std::uint32_t)));
    if (instance->by_node == nullptr)
        return;
    for (std::uint32_t i = 0; i < count; ++i)
        instance->by_node[i] = i;
    const Node* nodes = instance->nodes.begin();
    std::sort(instance->by_node, instance->by_node + count,
              [nodes](std::uint32_t a, std::uint32_t b) { return nodes[a].node < nodes[b].node; });
}

Node* find_node(Instance* instance, CUgraphNode handle) {
    if (instance->by_node == nullptr)
        return nullptr;
    Node* nodes = instance->nodes.begin();
    const std::uint32_t* begin = instance->by_node;
    const std::uint32_t* end = begin + instance->nodes.size();
    const std::uint32_t* found = std::lower_bound(
        begin, end, handle, [nodes](std::uint32_t i, CUgraphNode wanted) { return nodes[i].node < wanted; });
    return found != end && nodes[*found].node == handle ? &nodes[*found] : nullptr;
}

// `change(instance, node)` says whether it changed anything.
template <typename Change>
void change_node(CUgraphExec handle, CUgraphNode node_handle, const Change& change) {
    const Lock lock(changing);
    Instance* instance = find_instance(handle);
    if (instance == nullptr)
        return;
    Node* node = find_node(instance, node_handle);
    if (node == nullptr)
        lose_track(instance);
    else if (change(instance, node))
        publish(instance);
}

template <typename Action>
void for_each_instance(const Action& action) {
    for (Instance* first : buckets)
        for (Instance* instance = first; instance != nullptr; instance = instance->in_bucket)
            action(instance);
}

// Of nodes that the application set in the instance itself, the graph no longer tells the parameters, nor does the
// twin.
void all_changed(Instance* instance) {
    forget_twin(instance, EGPU_GRAPH_CHANGED);
    for (Node& node : instance->nodes)
        node.changed = true;
}

}  // namespace

Mutex& instances_lock() {
    return changing;
}

Reading::Reading() {
    __atomic_add_fetch(&readers, 1, __ATOMIC_SEQ_CST);
}

Reading::~Reading() {
    __atomic_sub_fetch(&readers, 1, __ATOMIC_SEQ_CST);
}

Instance* find_instance(CUgraphExec handle) {
    Instance* instance = __atomic_load_n(&bucket_of(handle), __ATOMIC_SEQ_CST);
    while (instance != nullptr && instance->handle != handle)
        instance = __atomic_load_n(&instance->in_bucket, __ATOMIC_SEQ_CST);
    return instance;
}

void publish(Instance* instance) {
    const std::size_t bytes = sizeof(Shares) + instance->nodes.size() * sizeof(Share);
    void* place = std::malloc(bytes);
    Shares* shares = place != nullptr ? new (place) Shares : nullptr;
    if (shares != nullptr) {
        shares->partly = instance->partly || !instance->nodes.complete();
        for (const Node* node = instance->nodes.begin(); node != instance->nodes.end(); ++node) {
            if (node->kind == Node::Kind::unknown_body)
                shares->partly = true;
            else if (node->kind == Node::Kind::kernel && node->enabled)
                add_share(shares, *node);
        }
    }
    book_holdings(shares, 1);
    Shares* before = __atomic_exchange_n(&instance->shares, shares, __ATOMIC_SEQ_CST);
    book_holdings(before, -1);
    retire(&retired_shares, before);
    free_retired();
}

void lose_track(Instance* instance) {
    instance->partly = true;
    publish(instance);
}

void instance_made(CUgraphExec handle, CUgraph graph, bool launched_by_device) {
    void* place = std::malloc(sizeof(Instance));
    if (place == nullptr)
        return;  // its launches count as launches of which something is missing
    auto* instance = new (place) Instance;
    instance->handle = handle;
    instance->partly = launched_by_device;
    instance->graph = graph;
    instance->nodes.read(graph);
    if (!launched_by_device)
        instance->twin = make_twin(graph, &instance->nodes);
    sort_by_node(instance);
    const Lock lock(changing);
    take_out(handle);
    publish(instance);
    instance->in_bucket = bucket_of(handle);
    __atomic_store_n(&bucket_of(handle), instance, __ATOMIC_SEQ_CST);
}

void instance_updated(CUgraphExec handle, CUgraph graph) {
    NodeList taken;
    taken.read(graph);
    const Lock lock(changing);
    Instance* instance = find_instance(handle);
    if (instance == nullptr)
        return;
    all_changed(instance);
    // cuGraphExecUpdate asks for nodes made in the same order, so they are paired by it.
    if (instance->nodes.take_functions(0, instance->nodes.size(), taken)) {
        // Updated from its own graph, it has that graph's parameters again.
        for (std::uint32_t i = 0; i < taken.size(); ++i)
            instance->nodes.begin()[i].changed = instance->nodes.begin()[i].node != taken.begin()[i].node;
        publish(instance);
    } else {
        lose_track(instance);
    }
}

void instance_child_updated(CUgraphExec handle, CUgraphNode node_handle, CUgraph graph) {
    NodeList taken;
    taken.read(graph);
    change_node(handle, node_handle, [&](Instance* instance, Node* node) {
        all_changed(instance);
        const auto begin = static_cast<std::uint32_t>(node - instance->nodes.begin()) + 1;
        if (node->kind != Node::Kind::child || !instance->nodes.take_functions(begin, node->end, taken))
            instance->partly = true;
        return true;
    });
}

void instance_node_set(CUgraphExec handle, CUgraphNode node_handle, Kernel* kernel, CUfunction copy) {
    change_node(handle, node_handle, [&](Instance* instance, Node* node) {
        forget_twin(instance, EGPU_GRAPH_CHANGED);
        const bool changed = node->kernel != kernel || node->copy != copy;
        node->kernel = kernel;
        node->copy = copy;
        node->changed = true;
        return changed;
    });
}

void instance_other_node_set(CUgraphExec handle) {
    const Lock lock(changing);
    if (Instance* instance = find_instance(handle); instance != nullptr)
        forget_twin(instance, EGPU_GRAPH_CHANGED);
}

void instance_node_enabled(CUgraphExec handle, CUgraphNode node_handle, bool enabled) {
    const Lock lock(changing);
    Instance* instance = find_instance(handle);
    if (instance == nullptr)
        return;
    // Whether an update from a graph leaves switches as they are, the driver's documentation doesn't say.
    forget_twin(instance, EGPU_GRAPH_CHANGED);
    Node* node = find_node(instance, node_handle);
    if (node == nullptr || node->enabled == enabled)
        return;  // copies and fills can be switched as well, and are no kernels
    node->enabled = enabled;
    publish(instance);
}

void instance_gone(CUgraphExec handle) {
    const Lock lock(changing);
    take_out(handle);
}

void graph_node_changed(CUgraphNode handle) {
    const Lock lock(changing);
    for_each_instance([handle](Instance* instance) {
        Node* node = find_node(instance, handle);
        if (node == nullptr)
            return;
        node->changed = true;
        // With a child graph its nodes may be gone.
        if (node->kind == Node::Kind::child)
            for (Node* inner = node + 1; inner < instance->nodes.begin() + node->end; ++inner)
                inner->changed = true;
    });
}

void graph_gone(CUgraph graph) {
    const Lock lock(changing);
    for_each_instance([graph](Instance* instance) {
        if (instance->graph == graph)
            instance->graph = nullptr;
    });
}

void instances_lose_context(CUcontext context, unsigned int place) {
    const Lock lock(changing);
    for_each_instance([context, place](Instance* instance) {
        if (instance->over_context == context)
            instance->over = nullptr;
        for (const Node& node : instance->nodes)
            if (node.place == place)
                instance->twin = nullptr;  // left to the driver, as the context's own handles are
    });
}

}  // namespace egpu::agent
