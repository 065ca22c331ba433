// SPDX-License-Identifier: Apache-2.0
// A launch: clusters of blocks (of one block, mostly) in order onto SMs, SMs onto host threads.
//
// Each worker runs one cluster as long as it makes headway. One that has had its turn and is not done may be waiting
// for another one (a barrier of the grid, a look-back), so the worker then starts one more, as far as the SMs have
// room, and takes turns.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <exception>
#include <thread>

#include <fmt/format.h>

#include "base/names.hpp"
#include "gpu/simulated/executor/cluster.hpp"
#include "gpu/simulated/executor/device.hpp"
#include "gpu/simulated/executor/machine/special.hpp"

namespace egpu::simulated {
namespace {

constexpr std::uint64_t kSlice = 4096;  ///< warp instructions of a warp between looks at the others
constexpr std::uint64_t kTurn = 64;     ///< slices of a block before another block is begun beside it
constexpr std::uint32_t kThreadsPerSm = 2048;
constexpr std::uint32_t kBlocksPerSm = 32;

struct Shared {
    std::atomic<std::uint64_t> next_cluster{0};
    std::atomic<std::uint64_t> resident{0};  ///< clusters
    std::atomic<std::uint64_t> steps{0};
    std::atomic<bool> stop{false};
    std::unique_ptr<std::atomic<std::uint64_t>[]> sm_cycles;
    std::mutex mutex;
    LaunchResult result;  // under mutex
};

class Worker {
public:
    Worker(Launch& launch, Shared& shared, std::uint64_t clusters, std::uint64_t most_resident)
        : launch_(launch), shared_(shared), clusters_(clusters), most_resident_(most_resident) {
        caches_.resize(launch.program->memory_slots);
    }

    void run() {
        try {
            run_blocks();
        } catch (const std::exception& problem) {  // no host memory
            Fault fault;
            fault.kind = FaultKind::bad_launch;
            fault.kernel = launch_.program->kernel;
            fault.text = fmt::format("kernel '{}' was stopped: {}", demangle(fault.kernel), problem.what());
            fail(fault);
        }
    }

private:
    void run_blocks() {
        while (!shared_.stop.load(std::memory_order_relaxed)) {
            if (active_.empty() && !begin_cluster()) {
                return;
            }
            Cluster& cluster = *active_[turn_ % active_.size()];
            if (!take_turn(cluster)) {
                return;
            }
            if (!cluster.done()) {
                // It may wait for a block that has not begun.
                begin_cluster();
                ++turn_;
            }
        }
    }

    bool begin_cluster() {
        if (shared_.resident.fetch_add(1) >= most_resident_ && !active_.empty()) {
            shared_.resident.fetch_sub(1);
            return false;
        }
        const std::uint64_t index = shared_.next_cluster.fetch_add(1);
        if (index >= clusters_) {
            shared_.resident.fetch_sub(1);
            return false;
        }
        if (spare_.empty()) {
            spare_.push_back(std::make_unique<Cluster>(launch_));
        }
        active_.push_back(std::move(spare_.back()));
        spare_.pop_back();
        active_.back()->start(index, shared_.sm_cycles.get());
        return true;
    }

    bool take_turn(Cluster& cluster) {
        for (std::uint64_t slice = 0; slice < kTurn && !cluster.done(); ++slice) {
            const std::uint64_t generation = launch_.environment->memory->generation();
            if (generation != generation_) {
                std::fill(caches_.begin(), caches_.end(), AddressCache{});
                generation_ = generation;
            }
            const std::uint64_t before = cluster.statistics().warp_instructions;
            if (!cluster.run(kSlice, caches_.data())) {
                fail(cluster.fault());
                return false;
            }
            const std::uint64_t executed = cluster.statistics().warp_instructions - before;
            if (shared_.steps.fetch_add(executed) + executed > launch_.environment->step_budget) {
                Fault fault;
                fault.kind = FaultKind::step_budget;
                fault.kernel = launch_.program->kernel;
                fault.block = cluster.first_running();
                fault.text = fmt::format(
                    "kernel '{}' has executed more than {} warp instructions and was stopped; block "
                    "({}, {}, {}) was still running",
                    demangle(fault.kernel), launch_.environment->step_budget, fault.block.x, fault.block.y,
                    fault.block.z);
                fail(fault);
                return false;
            }
        }
        if (cluster.done()) {
            finish(cluster);
        }
        return true;
    }

    void finish(Cluster& cluster) {
        for (const auto& block : cluster.blocks()) {
            auto& cycles = shared_.sm_cycles[block->multiprocessor()];
            std::uint64_t seen = cycles.load();
            while (seen < block->cycles() && !cycles.compare_exchange_weak(seen, block->cycles())) {
            }
        }
        add(cluster.statistics());
        const auto at =
            std::find_if(active_.begin(), active_.end(), [&](const auto& one) { return one.get() == &cluster; });
        spare_.push_back(std::move(*at));
        active_.erase(at);
        shared_.resident.fetch_sub(1);
    }

    void add(const LaunchStatistics& more) {
        const std::lock_guard lock(shared_.mutex);
        LaunchStatistics& sum = shared_.result.statistics;
        sum.blocks += more.blocks;
        sum.warp_instructions += more.warp_instructions;
        sum.lane_instructions += more.lane_instructions;
    }

    void fail(const Fault& fault) {
        const std::lock_guard lock(shared_.mutex);
        if (!shared_.result.fault) {
            shared_.result.fault = fault;
        }
        shared_.stop.store(true);
    }

    Launch& launch_;
    Shared& shared_;
    const std::uint64_t clusters_, most_resident_;  ///< clusters
    std::vector<AddressCache> caches_;
    std::uint64_t generation_ = 0;
    std::deque<std::unique_ptr<Cluster>> active_;
    std::vector<std::unique_ptr<Cluster>> spare_;
    std::uint64_t turn_ = 0;
};

LaunchResult refuse(const Kernel& kernel, std::string why) {
    LaunchResult result;
    Fault fault;
    fault.kind = FaultKind::bad_launch;
    fault.kernel = kernel.name;
    fault.text = fmt::format("kernel '{}' can't be launched: {}", demangle(kernel.name), why);
    result.fault = std::move(fault);
    return result;
}

std::optional<std::string> problem_of(const Kernel& kernel, Dimensions grid, Dimensions block,
                                      std::uint32_t dynamic_shared, std::size_t parameter_bytes,
                                      const LaunchEnvironment& environment) {
    if (environment.memory == nullptr || environment.sm_count == 0) {
        return "no memory or no SMs";
    }
    if (grid.count() == 0 || block.count() == 0 || grid.y > 65535 || grid.z > 65535 || grid.x > 0x7fffffff) {
        return fmt::format("a grid of ({}, {}, {}) blocks of ({}, {}, {}) threads", grid.x, grid.y, grid.z, block.x,
                           block.y, block.z);
    }
    const std::uint64_t threads = block.count();
    if (threads > 1024 || block.x > 1024 || block.y > 1024 || block.z > 64) {
        return fmt::format("a block of ({}, {}, {}) threads; 1024 are the limit", block.x, block.y, block.z);
    }
    if (kernel.max_threads.count() != 0 && threads > kernel.max_threads.count()) {
        return fmt::format("a block of {} threads, the kernel allows {}", threads, kernel.max_threads.count());
    }
    if (kernel.required_threads.count() != 0 && !(block == kernel.required_threads)) {
        return fmt::format("a block of ({}, {}, {}) threads, the kernel requires ({}, {}, {})", block.x, block.y,
                           block.z, kernel.required_threads.x, kernel.required_threads.y, kernel.required_threads.z);
    }
    if (std::uint64_t{kernel.static_shared_bytes} + dynamic_shared > environment.shared_limit) {
        return fmt::format("{} + {} bytes of shared memory, a block can have {}", kernel.static_shared_bytes,
                           dynamic_shared, environment.shared_limit);
    }
    if (kernel.local_bytes > environment.stack_limit) {
        return fmt::format("{} bytes of local memory a thread, {} are the limit", kernel.local_bytes,
                           environment.stack_limit);
    }
    if (parameter_bytes < kernel.parameter_bytes) {
        return fmt::format("{} bytes of parameters, the kernel has {}", parameter_bytes, kernel.parameter_bytes);
    }
    const std::string text = problem_of_cluster(kernel, grid, environment.cluster);
    return text.empty() ? std::nullopt : std::optional(text);
}

void fill_warps(Launch& launch) {
    const auto threads = static_cast<std::uint32_t>(launch.block.count());
    for (std::uint32_t warp = 0; warp * kLanes < threads; ++warp) {
        std::vector<std::byte> rows(kWarpRowBytes);
        Mask lanes = 0;
        for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
            const std::uint32_t thread = warp * kLanes + lane;
            lanes |= static_cast<Mask>(thread < threads ? 1 : 0) << lane;
            const Mask equal = Mask{1} << lane;
            const auto set = [&](WarpRow row, std::uint32_t value) {
                std::memcpy(rows.data() + static_cast<std::uint32_t>(row) * kRow32 + lane * 4, &value, 4);
            };
            set(WarpRow::tid_x, thread % launch.block.x);
            set(WarpRow::tid_y, thread / launch.block.x % launch.block.y);
            set(WarpRow::tid_z, thread / launch.block.x / launch.block.y);
            set(WarpRow::laneid, lane);
            set(WarpRow::lanemask_eq, equal);
            set(WarpRow::lanemask_lt, equal - 1);
            set(WarpRow::lanemask_le, equal | (equal - 1));
            set(WarpRow::lanemask_gt, ~(equal | (equal - 1)));
            set(WarpRow::lanemask_ge, ~(equal - 1));
            set(WarpRow::warpid, warp);
        }
        launch.warp_rows.push_back(std::move(rows));
        launch.warp_lanes.push_back(lanes);
    }
}

}  // namespace

std::string_view to_string(FaultKind kind) {
    switch (kind) {
        case FaultKind::bad_launch:
            return "bad launch";
        case FaultKind::illegal_address:
            return "illegal address";
        case FaultKind::misaligned_address:
            return "misaligned address";
        case FaultKind::divergent_barrier:
            return "divergent barrier";
        case FaultKind::deadlock:
            return "deadlock";
        case FaultKind::trap:
            return "trap";
        case FaultKind::assertion:
            return "assertion";
        case FaultKind::step_budget:
            return "step budget";
        case FaultKind::call_depth:
            return "stack overflow";
        case FaultKind::illegal_instruction:
            return "illegal instruction";
    }
    return "fault";
}

LaunchResult launch(const Kernel& kernel, Dimensions grid, Dimensions block, std::uint32_t dynamic_shared_bytes,
                    std::span<const std::byte> parameters, const LaunchEnvironment& environment) {
    if (auto problem = problem_of(kernel, grid, block, dynamic_shared_bytes, parameters.size(), environment)) {
        return refuse(kernel, std::move(*problem));
    }
    const DeviceMemory::UseGuard guard(*environment.memory);
    Launch launch;
    launch.program = kernel.program.get();
    launch.environment = &environment;
    launch.grid = grid;
    launch.block = block;
    const Dimensions cluster = cluster_of(kernel, environment.cluster);
    launch.explicit_cluster = cluster.count() != 0;
    launch.cluster = launch.explicit_cluster ? cluster : Dimensions{1, 1, 1};
    launch.dynamic_shared_bytes = dynamic_shared_bytes;
    launch.parameters.assign(parameters.begin(), parameters.end());
    fill_warps(launch);

    Shared shared;
    shared.sm_cycles = std::make_unique<std::atomic<std::uint64_t>[]>(environment.sm_count);
    const std::uint64_t clusters = grid.count() / launch.cluster.count();
    const std::uint64_t per_sm =
        std::max<std::uint64_t>(1, std::min<std::uint64_t>(kBlocksPerSm, kThreadsPerSm / block.count()));
    const std::uint64_t workers = std::clamp<std::uint64_t>(environment.workers, 1, clusters);
    const std::uint64_t most_resident = std::max(per_sm * environment.sm_count / launch.cluster.count(), workers);
    std::vector<std::thread> threads;
    for (std::uint64_t i = 1; i < workers; ++i) {
        threads.emplace_back([&] { Worker(launch, shared, clusters, most_resident).run(); });
    }
    Worker(launch, shared, clusters, most_resident).run();
    for (std::thread& thread : threads) {
        thread.join();
    }
    return std::move(shared.result);
}

}  // namespace egpu::simulated
