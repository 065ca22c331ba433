// SPDX-License-Identifier: Apache-2.0
// A block: its warps, its shared memory, its barriers.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "gpu/simulated/executor/device.hpp"
#include "gpu/simulated/executor/machine/context.hpp"
#include "gpu/simulated/executor/warp.hpp"

namespace egpu::simulated {

/// What all blocks of a launch share.
struct Launch {
    const Program* program = nullptr;
    const LaunchEnvironment* environment = nullptr;
    Dimensions grid, block;
    Dimensions cluster;             ///< blocks a cluster
    bool explicit_cluster = false;  ///< the launch or the kernel says so
    std::uint32_t dynamic_shared_bytes = 0;
    std::vector<std::byte> parameters;
    std::vector<std::vector<std::byte>> warp_rows;  ///< by warp of the block: the same in every block
    std::vector<Mask> warp_lanes;
    std::mutex print_mutex;
};

class Block {
public:
    explicit Block(Launch& launch);
    Block(const Block&) = delete;
    Block& operator=(const Block&) = delete;

    void start(Dimensions index, std::uint64_t cycles);
    /// Runs each warp for about `steps` instructions. False: fault().
    bool run(std::uint64_t steps, AddressCache* caches);
    bool done() const { return done_; }
    /// After run: a warp can go on.
    bool moves() const { return moves_; }
    /// Nobody in the cluster can go on: makes that the fault.
    void report_stuck();
    const Fault& fault() const { return fault_; }
    std::uint64_t cycles() const;
    LaunchStatistics statistics() const;
    std::uint32_t multiprocessor() const { return multiprocessor_; }

    Launch& launch() { return launch_; }
    BlockMemory& memory() { return memory_; }
    const std::vector<std::unique_ptr<Warp>>& warps() const { return warps_; }
    Dimensions index() const { return index_; }
    /// barrier.arrive of a whole warp.
    void arrive(std::uint32_t barrier, std::uint32_t threads);
    Dimensions thread_of(std::uint32_t warp, unsigned lane) const;

private:
    struct Barrier {
        std::uint32_t arrived = 0;  ///< threads, in whole warps
        std::uint32_t ones = 0;     ///< reductions: predicates that were true
        bool all = true;
    };

    void fill_rows();
    bool complete_barriers();
    void describe_fault(Warp& warp);

    Launch& launch_;
    Dimensions index_;
    std::uint32_t multiprocessor_ = 0;
    bool done_ = true;
    bool moves_ = false;
    Fault fault_;
    BlockMemory memory_;
    std::unique_ptr<std::byte[]> shared_;
    std::unique_ptr<std::byte[]> rows_;
    std::array<Barrier, 16> barriers_;
    std::vector<std::unique_ptr<Warp>> warps_;
};

}  // namespace egpu::simulated
