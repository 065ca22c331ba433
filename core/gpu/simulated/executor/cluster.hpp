// SPDX-License-Identifier: Apache-2.0
// A cluster: blocks that run side by side, reach each other's shared memory and have a barrier of their own. A launch
// without clusters is one of clusters of one block.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <vector>

#include "gpu/simulated/executor/block.hpp"

namespace egpu::simulated {

class Cluster {
public:
    explicit Cluster(Launch& launch);

    /// Begins cluster `index` of the grid; blocks begin at the time of their SM.
    void start(std::uint64_t index, const std::atomic<std::uint64_t>* sm_cycles);
    /// Runs each warp for about `steps` instructions. False: fault().
    bool run(std::uint64_t steps, AddressCache* caches);
    bool done() const { return done_; }
    const Fault& fault() const { return *fault_; }
    LaunchStatistics statistics() const;
    const std::vector<std::unique_ptr<Block>>& blocks() const { return blocks_; }
    /// The first block that has not ended.
    Dimensions first_running() const;

private:
    bool complete_barrier();
    bool take_looked();
    bool in_vain();
    bool give_way();
    bool stuck();

    Launch& launch_;
    std::vector<std::unique_ptr<Block>> blocks_;  ///< by rank
    std::vector<const BlockMemory*> memories_;
    bool done_ = true;
    std::uint64_t vain_rounds_ = 0;  ///< in which waits gave up and nothing else happened
    bool vain_timed_ = false;        ///< a clock was read in them
    std::chrono::steady_clock::time_point vain_since_;
    const Fault* fault_ = nullptr;
};

}  // namespace egpu::simulated
