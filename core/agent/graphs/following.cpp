// SPDX-License-Identifier: Apache-2.0
// Instances that hold other copies than launches now run follow before a launch, when their last one is over.
#include <algorithm>

#include "agent/driver/driver.hpp"
#include "agent/graphs/instance.hpp"
#include "agent/graphs/instances.hpp"
#include "agent/graphs/recorded.hpp"
#include "agent/graphs/twin.hpp"
#include "agent/session/session.hpp"
#include "segment/access/shared.hpp"

namespace egpu::agent {

namespace {

bool differs(const Share& share) {
    const CUfunction now = wanted(share);
    const bool other = (share.originals != 0 && now != nullptr) || (share.copies != 0 && share.copy != now);
    return other && __atomic_load_n(&share.tried, __ATOMIC_RELAXED) != now;
}

// Until launches are to run something else than now.
void keep_as_it_is(Instance* instance, std::uint32_t why) {
    if (instance->shares == nullptr)
        return;
    for (Share& share : *instance->shares) {
        __atomic_store_n(&share.why, why, __ATOMIC_RELAXED);
        __atomic_store_n(&share.tried, wanted(share), __ATOMIC_RELEASE);
    }
}

// Puts into a node's parameters what it is to hold from now on. The copy of these, null for the original.
CUfunction put_next(const Node& node, CUDA_KERNEL_NODE_PARAMS* params, ChooseForNode choose) {
    // The graph's own node may hold the copy where the instance's holds the original.
    const Recorded* of_copy = recorded(node.copy != nullptr ? node.copy : params->func);
    const CUfunction original = of_copy != nullptr ? of_copy->original : params->func;
    // Of a library's kernel only that handle may be known.
    const CUkernel kernel = of_copy != nullptr ? of_copy->original_kernel : params->kern;
    const CUfunction copy = choose(kernel != nullptr ? reinterpret_cast<CUfunction>(kernel) : original, *params);
    params->func = copy != nullptr ? copy : original;
    params->kern = nullptr;
    return copy;
}

// Node by node, by the nodes of the graph that is still there. EGPU_GRAPH_REASONS: all that were asked for it follow.
std::uint32_t follow_by_graph(Instance* instance, ChooseForNode choose) {
    const Driver& real = driver();
    std::uint32_t why = EGPU_GRAPH_REASONS;
    for (Node& node : instance->nodes) {
        CUDA_KERNEL_NODE_PARAMS params{};
        if (node.kind != Node::Kind::kernel || node.kernel == nullptr)
            continue;
        if (node.changed || real.cuGraphKernelNodeGetParams_v2(node.node, &params) != CUDA_SUCCESS) {
            why = EGPU_GRAPH_CHANGED;
            continue;
        }
        const CUfunction copy = put_next(node, &params, choose);
        if (copy == node.copy)
            continue;
        if (real.cuGraphExecKernelNodeSetParams_v2(instance->handle, node.node, &params) == CUDA_SUCCESS) {
            node.copy = copy;
        } else {
            node.changed = true;
            why = EGPU_GRAPH_REFUSED;
        }
    }
    return why;
}

// All at once, by an update from the twin.
std::uint32_t follow_by_twin(Instance* instance, ChooseForNode choose) {
    const Driver& real = driver();
    NodeList& nodes = instance->nodes;
    bool set = true;
    for (Node& node : nodes) {
        CUDA_KERNEL_NODE_PARAMS params{};
        if (node.kind != Node::Kind::kernel || node.kernel == nullptr)
            continue;
        set = set && real.cuGraphKernelNodeGetParams_v2(node.twin, &params) == CUDA_SUCCESS;
        if (!set)
            break;
        const CUfunction held = params.func;
        node.next_copy = put_next(node, &params, choose);
        if (params.func != held)
            set = real.cuGraphKernelNodeSetParams_v2(node.twin, &params) == CUDA_SUCCESS;
    }
    CUgraphExecUpdateResultInfo info{};
    if (set && real.cuGraphExecUpdate_v2(instance->handle, instance->twin, &info) == CUDA_SUCCESS) {
        for (Node& node : nodes)
            if (node.kind == Node::Kind::kernel && node.kernel != nullptr)
                node.copy = node.next_copy;
        return EGPU_GRAPH_REASONS;
    }
    // What an update that failed leaves behind, nobody says.
    instance->partly = instance->partly || set;
    free_twin(instance->twin);
    instance->twin = nullptr;
    instance->without_twin = EGPU_GRAPH_REFUSED;
    return EGPU_GRAPH_REFUSED;
}

std::uint32_t follow(Instance* instance, ChooseForNode choose) {
    const Driver& real = driver();
    if (real.cuGraphKernelNodeGetParams_v2 == nullptr)
        return EGPU_GRAPH_REFUSED;
    // The twin first: it is nobody else's, while another thread may be changing the application's graph right now.
    if (instance->twin == nullptr)
        return instance->graph != nullptr && real.cuGraphExecKernelNodeSetParams_v2 != nullptr
                   ? follow_by_graph(instance, choose)
                   : instance->without_twin;
    if (real.cuGraphKernelNodeSetParams_v2 == nullptr || real.cuGraphExecUpdate_v2 == nullptr)
        return EGPU_GRAPH_REFUSED;
    return follow_by_twin(instance, choose);
}

// Whether its last launch is known to be over.
bool is_over(const Instance& instance, CUstream stream, StreamForm form) {
    const Driver& real = driver();
    const std::uint64_t launches = __atomic_load_n(&instance.launches, __ATOMIC_ACQUIRE);
    if (launches == 0)
        return true;
    if (instance.over != nullptr && instance.over_after == launches)
        return real.cuEventQuery != nullptr && real.cuEventQuery(instance.over) == CUDA_SUCCESS;
    // Another stream than this one may be gone by now.
    const auto query = form == StreamForm::legacy ? real.cuStreamQuery : real.cuStreamQuery_ptsz;
    return query != nullptr && __atomic_load_n(&instance.last_stream, __ATOMIC_RELAXED) == stream &&
           query(stream) == CUDA_SUCCESS;
}

}  // namespace

CUfunction wanted(const Share& share) {
    const bool on = mode() == Mode::observing && segment::load_relaxed(view().header().enabled) != 0;
    const Copy* copy = on && share.place != kNoPlace ? current_copy(*share.kernel, share.place) : nullptr;
    return copy != nullptr ? copy->functions.copy : nullptr;
}

bool instance_differs(CUgraphExec handle) {
    const Reading reading;
    Shares* shares = shares_of(find_instance(handle));
    return shares != nullptr && std::any_of(shares->begin(), shares->end(), differs);
}

bool instance_follows(CUgraphExec handle, const GraphLaunch& launch, ChooseForNode choose) {
    const Lock lock(instances_lock());
    Instance* instance = find_instance(handle);
    if (instance == nullptr || instance->shares == nullptr)
        return true;
    if (!launch.context_idle && !is_over(*instance, launch.stream, launch.form))
        return false;
    const std::uint32_t why = follow(instance, choose);
    publish(instance);
    keep_as_it_is(instance, why);
    return true;
}

void instance_keeps_originals(CUgraphExec handle) {
    const Lock lock(instances_lock());
    if (Instance* instance = find_instance(handle); instance != nullptr)
        keep_as_it_is(instance, EGPU_GRAPH_REFUSED);
}

void mark_end_of_launch(CUgraphExec handle, const GraphLaunch& launch) {
    const Driver& real = driver();
    const auto record = launch.form == StreamForm::legacy ? real.cuEventRecord : real.cuEventRecord_ptsz;
    const Lock lock(instances_lock());
    Instance* instance = find_instance(handle);
    if (instance == nullptr || record == nullptr || real.cuEventCreate == nullptr)
        return;
    if (instance->over == nullptr && (real.cuCtxGetCurrent(&instance->over_context) != CUDA_SUCCESS ||
                                      real.cuEventCreate(&instance->over, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS)) {
        instance->over = nullptr;
        return;
    }
    const std::uint64_t launches = __atomic_load_n(&instance->launches, __ATOMIC_ACQUIRE);
    instance->over_after = record(instance->over, launch.stream) == CUDA_SUCCESS ? launches : 0;
}

}  // namespace egpu::agent
