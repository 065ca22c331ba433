// SPDX-License-Identifier: Apache-2.0
// For this room's own files: the table of instances. A launch reads it under Reading; changes are made under the lock,
// and what they take out is freed once nobody reads.
#pragma once

#include <cstdint>

#include "agent/graphs/nodes.hpp"
#include "agent/kernels/inventory.hpp"
#include "agent/session/lock.hpp"
#include "gpu/device/driver.h"
#include "segment/layout/layout.h"

namespace egpu::agent {

/// How often one launch of an instance runs a kernel.
struct Share {
    Kernel* kernel;
    std::uint32_t place;
    std::uint32_t originals, copies;
    CUfunction copy;   ///< that its nodes hold
    CUfunction tried;  ///< atomic: what they were to hold when that was last tried
    egpu_copy_counters* copy_counters;
    std::uint32_t why;  ///< atomic: egpu_graph_reason where that was tried and they hold something else
};
/// No function: nothing was tried yet.
inline const CUfunction kNothingTried = reinterpret_cast<CUfunction>(1);

/// What is kept until nobody reads it any more.
struct Block {
    Block* next = nullptr;
};

struct Shares : Block {
    std::uint64_t unknown = 0;  ///< kernels of no image that the agent saw
    bool partly = false;        ///< some of what it runs can't be told
    std::uint32_t count = 0;
    Share* items() { return reinterpret_cast<Share*>(this + 1); }
    Share* begin() { return items(); }
    Share* end() { return items() + count; }
};

struct Instance : Block {
    CUgraphExec handle = nullptr;
    Instance* in_bucket = nullptr;
    Shares* shares = nullptr;
    CUstream last_stream = nullptr;  ///< atomic, as the next
    std::uint64_t launches = 0;
    // The rest is of changes only, under the lock.
    NodeList nodes;
    std::uint32_t* by_node = nullptr;  ///< indices of nodes, sorted by handle
    bool partly = false;
    CUgraph graph = nullptr;  ///< null: gone
    CUgraph twin = nullptr;   ///< what it was made from, as it was then (twin.hpp); null: there is none
    std::uint32_t without_twin = EGPU_GRAPH_NO_SOURCE;  ///< egpu_graph_reason: why there is none
    CUevent over = nullptr;                             ///< recorded behind launch number `over_after`
    CUcontext over_context = nullptr;
    std::uint64_t over_after = 0;
};

/// Held while the table or an instance changes.
Mutex& instances_lock();
/// While one is alive, what find_instance() gave stays readable without the lock.
class Reading {
public:
    Reading();
    ~Reading();
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;
};
Instance* find_instance(CUgraphExec handle);
inline Shares* shares_of(Instance* instance) {
    return instance != nullptr ? __atomic_load_n(&instance->shares, __ATOMIC_SEQ_CST) : nullptr;
}

/// From the nodes to what a launch adds. Under the lock, as the next.
void publish(Instance* instance);
/// Of a change that can't be followed, only that is known from now on.
void lose_track(Instance* instance);

/// What launches of a kernel run now; null: the original.
CUfunction wanted(const Share& share);

}  // namespace egpu::agent
