// SPDX-License-Identifier: Apache-2.0
// What a launch of a graph adds to the counters: each kernel as what its nodes hold at that moment.
#include "agent/graphs/instance.hpp"
#include "agent/graphs/instances.hpp"
#include "agent/session/session.hpp"
#include "segment/access/shared.hpp"

namespace egpu::agent {

namespace {

using segment::add_relaxed;

// Launches of a copy that was to run no more count as its own, and as such.
void count_copies(const Share& share) {
    add_relaxed(share.kernel->counters->launches_instrumented, std::uint64_t{share.copies});
    if (share.copy_counters == nullptr)
        return;
    add_relaxed(share.copy_counters->launches, std::uint64_t{share.copies});
    const CUfunction now = wanted(share);
    if (share.copy == now)
        return;
    const bool tried = __atomic_load_n(&share.tried, __ATOMIC_ACQUIRE) == now;
    const std::uint32_t why = __atomic_load_n(&share.why, __ATOMIC_RELAXED);
    // Nothing tried: the instance was busy, or the change came between the look before the launch and this one.
    const std::uint32_t reason = tried && why < EGPU_GRAPH_REASONS ? why : std::uint32_t{EGPU_GRAPH_BUSY};
    add_relaxed(share.copy_counters->launches_former[reason], std::uint64_t{share.copies});
}

void count(const Share& share, bool data_arrives) {
    egpu_kernel_counters* counters = share.kernel->counters;
    add_relaxed(counters->launches, std::uint64_t{share.originals} + share.copies);
    if (data_arrives && share.copies != 0)
        count_copies(share);
    if (share.originals != 0) {
        add_relaxed(counters->launches_captured, std::uint64_t{share.originals});
        add_relaxed(view().header().launches_captured, std::uint64_t{share.originals});
    }
}

}  // namespace

void instance_launched(CUgraphExec handle, CUstream stream) {
    add_relaxed(view().header().graph_launches, std::uint64_t{1});
    // After the last copy of the maps, what copies count arrives nowhere.
    const bool data_arrives = mode() == Mode::observing;
    const Reading reading;
    Instance* instance = find_instance(handle);
    Shares* shares = shares_of(instance);
    if (instance != nullptr) {
        __atomic_store_n(&instance->last_stream, stream, __ATOMIC_RELAXED);
        __atomic_add_fetch(&instance->launches, 1, __ATOMIC_RELEASE);
    }
    if (shares == nullptr || shares->partly)
        add_relaxed(view().header().graph_launches_partly, std::uint64_t{1});
    if (shares == nullptr)
        return;
    if (shares->unknown != 0)
        add_relaxed(view().header().launches_unknown, shares->unknown);
    for (const Share& share : *shares)
        count(share, data_arrives);
}

}  // namespace egpu::agent
