// SPDX-License-Identifier: Apache-2.0
// Running the blocks of a cluster in turns; its barrier; deadlocks.
//
// A deadlock is found when no warp of the cluster can go on. Where some of them are in mbarrier.try_wait they give up
// (waits.cpp) and mostly wait again; when that has happened often enough, and meanwhile nothing was arrived at and no
// volatile or atomic access was made, nothing that any warp does can end it. Only those that count their
// tries, or read a clock (as cuda::barrier does, to sleep longer and longer), may have a limit of their own: they get
// some seconds.
#include "gpu/simulated/executor/cluster.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace egpu::simulated {
namespace {
constexpr std::uint64_t kMostVainRounds = 1 << 14;
/// A kernel may count its tries, or read a clock, and go on without what it waits for.
constexpr std::chrono::seconds kPatience{2}, kClockPatience{6};
}  // namespace

Dimensions cluster_of(const Kernel& kernel, Dimensions asked) {
    return asked.count() != 0 ? asked : kernel.required_cluster;
}

std::string problem_of_cluster(const Kernel& kernel, Dimensions grid, Dimensions asked) {
    const Dimensions& required = kernel.required_cluster;
    const auto text = [](Dimensions size) { return fmt::format("({}, {}, {})", size.x, size.y, size.z); };
    if (asked.count() == 0 && required.count() == 0) {
        return kernel.explicit_cluster ? "it is launched without clusters, which its .explicitcluster asks for"
                                       : std::string();
    }
    if (asked.count() != 0 && required.count() != 0 && !(asked == required)) {
        return fmt::format("clusters of {} blocks, the kernel requires {}", text(asked), text(required));
    }
    const Dimensions size = cluster_of(kernel, asked);
    const std::uint32_t most =
        kernel.max_cluster_rank != 0 ? std::min(kernel.max_cluster_rank, kMostBlocksOfCluster) : kMostBlocksOfCluster;
    if (size.count() > most) {
        return fmt::format("clusters of {} blocks; {} are the limit", text(size), most);
    }
    if (grid.x % size.x != 0 || grid.y % size.y != 0 || grid.z % size.z != 0) {
        return fmt::format("a grid of {} blocks is not made of clusters of {}", text(grid), text(size));
    }
    return {};
}

Cluster::Cluster(Launch& launch) : launch_(launch) {
    for (std::uint32_t rank = 0; rank < launch.cluster.count(); ++rank) {
        blocks_.push_back(std::make_unique<Block>(launch));
        memories_.push_back(&blocks_.back()->memory());
    }
    for (std::uint32_t rank = 0; rank < blocks_.size(); ++rank) {
        BlockMemory& memory = blocks_[rank]->memory();
        memory.cluster = memories_.data();
        memory.cluster_size = static_cast<std::uint32_t>(blocks_.size());
        memory.cluster_rank = rank;
    }
}

void Cluster::start(std::uint64_t index, const std::atomic<std::uint64_t>* sm_cycles) {
    const Dimensions& grid = launch_.grid;
    const Dimensions& size = launch_.cluster;
    const std::uint64_t wide = grid.x / size.x, high = grid.y / size.y;
    const auto x = static_cast<std::uint32_t>(index % wide), y = static_cast<std::uint32_t>(index / wide % high),
               z = static_cast<std::uint32_t>(index / wide / high);
    for (std::uint32_t rank = 0; rank < blocks_.size(); ++rank) {
        const Dimensions at{x * size.x + rank % size.x, y * size.y + rank / size.x % size.y,
                            z * size.z + rank / size.x / size.y};
        const std::uint64_t linear = (std::uint64_t{at.z} * grid.y + at.y) * grid.x + at.x;
        const std::uint64_t sm = linear % launch_.environment->sm_count;
        blocks_[rank]->start(at, sm_cycles[sm].load(std::memory_order_relaxed));
    }
    done_ = false;
    vain_rounds_ = 0;
}

LaunchStatistics Cluster::statistics() const {
    LaunchStatistics sum;
    for (const auto& block : blocks_) {
        const LaunchStatistics one = block->statistics();
        sum.blocks += one.blocks;
        sum.warp_instructions += one.warp_instructions;
        sum.lane_instructions += one.lane_instructions;
    }
    return sum;
}

Dimensions Cluster::first_running() const {
    const auto at = std::find_if(blocks_.begin(), blocks_.end(), [](const auto& block) { return !block->done(); });
    return (at != blocks_.end() ? *at : blocks_.front())->index();
}

/// The barrier opens when all threads that have not left have come, one at least.
bool Cluster::complete_barrier() {
    bool all = true, any = false;
    for (const auto& block : blocks_) {
        for (const auto& warp : block->warps()) {
            all = all && warp->at_cluster_barrier();
            any = any || warp->live() != 0;
        }
    }
    if (!all || !any) {
        return false;
    }
    std::uint64_t now = 0;
    for (const auto& block : blocks_) {
        now = std::max(now, block->cycles());
    }
    for (const auto& block : blocks_) {
        for (const auto& warp : block->warps()) {
            warp->context().cycles = now;
            warp->pass_cluster_barrier();
        }
    }
    return true;
}

bool Cluster::take_looked() {
    bool looked = false;
    for (const auto& block : blocks_) {
        for (const auto& warp : block->warps()) {
            looked |= warp->context().looked;
            warp->context().looked = false;
        }
    }
    return looked;
}

/// Nobody can go on: whether that has lasted too long.
bool Cluster::in_vain() {
    if (take_looked()) {
        vain_rounds_ = 0;
    }
    const auto now = std::chrono::steady_clock::now();
    if (vain_rounds_++ == 0) {
        vain_since_ = now;
        vain_timed_ = false;
    }
    for (const auto& block : blocks_) {
        for (const auto& warp : block->warps()) {
            vain_timed_ |= warp->context().timed;
            warp->context().timed = false;
        }
    }
    return vain_rounds_ > kMostVainRounds && now - vain_since_ > (vain_timed_ ? kClockPatience : kPatience);
}

bool Cluster::give_way() {
    bool any = false;
    for (const auto& block : blocks_) {
        for (const auto& warp : block->warps()) {
            any |= warp->give_way();
        }
    }
    return any;
}

bool Cluster::stuck() {
    for (const auto& block : blocks_) {
        if (!block->done()) {
            block->report_stuck();
            fault_ = &block->fault();
            return false;
        }
    }
    return true;
}

bool Cluster::run(std::uint64_t steps, AddressCache* caches) {
    bool moves = false, done = true;
    for (const auto& block : blocks_) {
        if (block->done()) {
            continue;
        }
        if (!block->run(steps, caches)) {
            fault_ = &block->fault();
            return false;
        }
        moves |= block->moves();
        done &= block->done();
    }
    done_ = done;
    if (done || complete_barrier() || moves) {
        vain_rounds_ = 0;
        return true;
    }
    return (!in_vain() && give_way()) || stuck();
}

}  // namespace egpu::simulated
