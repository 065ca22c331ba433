// SPDX-License-Identifier: Apache-2.0
// A launch reads under a count of readers; what is taken out of the table is freed once nobody reads.
#include "agent/graphs/instances.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>

#include "agent/driver/driver.hpp"
#include "agent/graphs/nodes.hpp"
#include "agent/graphs/recorded.hpp"
#include "agent/session/lock.hpp"
#include "agent/session/session.hpp"
#include "segment/access/shared.hpp"

namespace egpu::agent {

namespace {

using segment::add_relaxed;
using segment::store_relaxed;

// How often one launch of an instance runs a kernel.
struct Share {
    Kernel* kernel;
    std::uint32_t place;
    std::uint32_t originals, copies;
    CUfunction copy;   ///< that its nodes hold
    CUfunction tried;  ///< atomic: what they were to hold when that was last tried
    egpu_copy_counters* copy_counters;
};
// No function: nothing was tried yet.
const CUfunction kNothingTried = reinterpret_cast<CUfunction>(1);

// What is kept until nobody reads it any more.
struct Block {
    Block* next = nullptr;
};

struct Shares : Block {
    std::uint64_t unknown = 0;  ///< kernels of no image that the agent saw
    bool partly = false;        ///< some of what it runs can't be told
    std::uint32_t count = 0;
    Share* items() { return reinterpret_cast<Share*>(this + 1); }
};

struct Instance : Block {
    CUgraphExec handle = nullptr;
    Instance* in_bucket = nullptr;
    Shares* shares = nullptr;
    CUstream last_stream = nullptr;  ///< atomic, as the next
    int launched = 0;
    // The rest is of changes only, under the lock.
    NodeList nodes;
    std::uint32_t* by_node = nullptr;  ///< indices of nodes, sorted by handle
    bool partly = false;
    CUgraph graph = nullptr;  ///< null: gone
};

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

Instance* find(CUgraphExec handle) {
    Instance* instance = __atomic_load_n(&bucket_of(handle), __ATOMIC_SEQ_CST);
    while (instance != nullptr && instance->handle != handle)
        instance = __atomic_load_n(&instance->in_bucket, __ATOMIC_SEQ_CST);
    return instance;
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

void take_out(CUgraphExec handle) {
    for (Instance** link = &bucket_of(handle); *link != nullptr; link = &(*link)->in_bucket) {
        Instance* instance = *link;
        if (instance->handle != handle)
            continue;
        __atomic_store_n(link, instance->in_bucket, __ATOMIC_SEQ_CST);
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
        *share = {node.kernel, node.place, 0, 0, nullptr, kNothingTried, nullptr};
        ++shares->count;
    }
    ++(node.copy != nullptr ? share->copies : share->originals);
    if (node.copy == nullptr)
        return;
    share->copy = node.copy;
    if (const Recorded* held = recorded(node.copy); held != nullptr)
        share->copy_counters = held->counters;
}

// From the nodes to what a launch adds.
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
    Shares* before = __atomic_exchange_n(&instance->shares, shares, __ATOMIC_SEQ_CST);
    retire(&retired_shares, before);
    free_retired();
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

// Of a change that can't be followed, only that is known from now on.
void lose_track(Instance* instance) {
    instance->partly = true;
    publish(instance);
}

// `change(instance, node)` says whether it changed anything.
template <typename Change>
void change_node(CUgraphExec handle, CUgraphNode node_handle, const Change& change) {
    const Lock lock(changing);
    Instance* instance = find(handle);
    if (instance == nullptr)
        return;
    Node* node = find_node(instance, node_handle);
    if (node == nullptr)
        lose_track(instance);
    else if (change(instance, node))
        publish(instance);
}

// What launches of a kernel run now; null: the original.
CUfunction wanted(const Share& share) {
    const bool on = mode() == Mode::observing && segment::load_relaxed(view().header().enabled) != 0;
    const Copy* copy = on && share.place != kNoPlace ? current_copy(*share.kernel, share.place) : nullptr;
    return copy != nullptr ? copy->functions.copy : nullptr;
}

bool differs(const Share& share) {
    const CUfunction now = wanted(share);
    const bool other = (share.originals != 0 && now != nullptr) || (share.copies != 0 && share.copy != now);
    return other && __atomic_load_n(&share.tried, __ATOMIC_RELAXED) != now;
}

// One node of an instance that is not running.
void follow(CUgraphExec handle, Node* node, ChooseForNode choose) {
    const Driver& real = driver();
    CUDA_KERNEL_NODE_PARAMS params{};
    if (node->kind != Node::Kind::kernel || node->kernel == nullptr || node->changed ||
        real.cuGraphKernelNodeGetParams_v2(node->node, &params) != CUDA_SUCCESS)
        return;
    // The graph's own node may hold the copy where the instance's holds the original.
    const Recorded* held = recorded(node->copy != nullptr ? node->copy : params.func);
    const CUfunction original = held != nullptr ? held->original : params.func;
    const CUfunction copy = choose(original, params);
    if (copy == node->copy)
        return;
    params.func = copy != nullptr ? copy : original;
    params.kern = nullptr;
    if (real.cuGraphExecKernelNodeSetParams_v2(handle, node->node, &params) == CUDA_SUCCESS)
        node->copy = copy;
    else
        node->changed = true;
}

// Until launches are to run something else than now.
void keep_as_it_is(Instance* instance) {
    Shares* shares = instance->shares;
    for (std::uint32_t i = 0; shares != nullptr && i < shares->count; ++i)
        __atomic_store_n(&shares->items()[i].tried, wanted(shares->items()[i]), __ATOMIC_RELAXED);
}

template <typename Action>
void for_each_instance(const Action& action) {
    for (Instance* first : buckets)
        for (Instance* instance = first; instance != nullptr; instance = instance->in_bucket)
            action(instance);
}

// Of a node that the application set in the instance itself, the graph no longer tells the parameters.
void all_changed(Instance* instance) {
    for (Node& node : instance->nodes)
        node.changed = true;
}

void count(const Share& share, bool data_arrives, std::uint64_t now) {
    egpu_kernel_counters* counters = share.kernel->counters;
    if (add_relaxed(counters->launches, std::uint64_t{share.originals} + share.copies) == 0)
        store_relaxed(counters->first_launch_ns, now);
    store_relaxed(counters->last_launch_ns, now);
    if (data_arrives && share.copies != 0) {
        add_relaxed(counters->launches_instrumented, std::uint64_t{share.copies});
        if (share.copy_counters != nullptr)
            add_relaxed(share.copy_counters->launches, std::uint64_t{share.copies});
    }
    if (share.originals != 0) {
        add_relaxed(counters->launches_captured, std::uint64_t{share.originals});
        add_relaxed(view().header().launches_captured, std::uint64_t{share.originals});
    }
}

}  // namespace

void instance_made(CUgraphExec handle, CUgraph graph, bool launched_by_device) {
    void* place = std::malloc(sizeof(Instance));
    if (place == nullptr)
        return;  // its launches count as launches of which something is missing
    auto* instance = new (place) Instance;
    instance->handle = handle;
    instance->partly = launched_by_device;
    instance->graph = graph;
    instance->nodes.read(graph);
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
    Instance* instance = find(handle);
    if (instance == nullptr)
        return;
    all_changed(instance);
    // cuGraphExecUpdate asks for nodes made in the same order, so they are paired by it.
    if (instance->nodes.take_functions(0, instance->nodes.size(), taken))
        publish(instance);
    else
        lose_track(instance);
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
    change_node(handle, node_handle, [&](Instance*, Node* node) {
        const bool changed = node->kernel != kernel || node->copy != copy;
        node->kernel = kernel;
        node->copy = copy;
        node->changed = true;
        return changed;
    });
}

void instance_node_enabled(CUgraphExec handle, CUgraphNode node_handle, bool enabled) {
    const Lock lock(changing);
    Instance* instance = find(handle);
    Node* node = instance != nullptr ? find_node(instance, node_handle) : nullptr;
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
        if (Node* node = find_node(instance, handle); node != nullptr)
            node->changed = true;
    });
}

void graph_gone(CUgraph graph) {
    const Lock lock(changing);
    for_each_instance([graph](Instance* instance) {
        if (instance->graph == graph)
            instance->graph = nullptr;
    });
}

bool instance_differs(CUgraphExec handle) {
    __atomic_add_fetch(&readers, 1, __ATOMIC_SEQ_CST);
    const Instance* instance = find(handle);
    Shares* shares = instance != nullptr ? __atomic_load_n(&instance->shares, __ATOMIC_SEQ_CST) : nullptr;
    const bool any = shares != nullptr && std::any_of(shares->items(), shares->items() + shares->count, differs);
    __atomic_sub_fetch(&readers, 1, __ATOMIC_SEQ_CST);
    return any;
}

void instance_follows(CUgraphExec handle, ChooseForNode choose) {
    const Driver& real = driver();
    const Lock lock(changing);
    Instance* instance = find(handle);
    if (instance == nullptr || instance->shares == nullptr)
        return;
    if (instance->graph != nullptr && real.cuGraphKernelNodeGetParams_v2 != nullptr &&
        real.cuGraphExecKernelNodeSetParams_v2 != nullptr) {
        for (Node& node : instance->nodes)
            follow(handle, &node, choose);
        publish(instance);
    }
    keep_as_it_is(instance);
}

void instance_keeps_originals(CUgraphExec handle) {
    const Lock lock(changing);
    if (Instance* instance = find(handle); instance != nullptr)
        keep_as_it_is(instance);
}

bool last_stream(CUgraphExec handle, CUstream* stream) {
    __atomic_add_fetch(&readers, 1, __ATOMIC_SEQ_CST);
    const Instance* instance = find(handle);
    const bool launched = instance != nullptr && __atomic_load_n(&instance->launched, __ATOMIC_ACQUIRE) != 0;
    if (launched)
        *stream = __atomic_load_n(&instance->last_stream, __ATOMIC_RELAXED);
    __atomic_sub_fetch(&readers, 1, __ATOMIC_SEQ_CST);
    return launched;
}

void instance_launched(CUgraphExec handle, CUstream stream) {
    add_relaxed(view().header().graph_launches, std::uint64_t{1});
    const std::uint64_t now = segment::monotonic_ns();
    // After the last copy of the maps, what copies count arrives nowhere.
    const bool data_arrives = mode() == Mode::observing;
    __atomic_add_fetch(&readers, 1, __ATOMIC_SEQ_CST);
    Instance* instance = find(handle);
    Shares* shares = instance != nullptr ? __atomic_load_n(&instance->shares, __ATOMIC_SEQ_CST) : nullptr;
    if (instance != nullptr) {
        __atomic_store_n(&instance->last_stream, stream, __ATOMIC_RELAXED);
        __atomic_store_n(&instance->launched, 1, __ATOMIC_RELEASE);
    }
    if (shares == nullptr || shares->partly)
        add_relaxed(view().header().graph_launches_partly, std::uint64_t{1});
    if (shares != nullptr) {
        if (shares->unknown != 0)
            add_relaxed(view().header().launches_unknown, shares->unknown);
        for (std::uint32_t i = 0; i < shares->count; ++i)
            count(shares->items()[i], data_arrives, now);
    }
    __atomic_sub_fetch(&readers, 1, __ATOMIC_SEQ_CST);
}

}  // namespace egpu::agent
