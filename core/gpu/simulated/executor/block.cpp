// SPDX-License-Identifier: Apache-2.0
// Running the warps of a block, its barriers, and the words for what went wrong in it.
#include "gpu/simulated/executor/block.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "base/names.hpp"
#include "gpu/simulated/executor/machine/special.hpp"

namespace egpu::simulated {

Block::Block(Launch& launch) : launch_(launch) {
    const std::uint64_t shared = std::uint64_t{launch.program->static_shared_bytes} + launch.dynamic_shared_bytes;
    memory_.shared_bytes = shared;
    shared_ = std::make_unique<std::byte[]>(shared + 16);
    memory_.shared = shared_.get();
    memory_.parameters = launch.parameters.data();
    memory_.parameter_bytes = launch.parameters.size();
    rows_ = std::make_unique<std::byte[]>(kBlockRowBytes);
    for (std::uint32_t i = 0; i < launch.warp_lanes.size(); ++i) {
        warps_.push_back(std::make_unique<Warp>(*this, i));
    }
}

void Block::fill_rows() {
    const LaunchEnvironment& environment = *launch_.environment;
    const auto fill = [&](BlockRow row, std::uint64_t value) {
        auto* const lanes = reinterpret_cast<std::uint32_t*>(rows_.get() + static_cast<std::uint32_t>(row) * kRow32);
        std::fill(lanes, lanes + kLanes, static_cast<std::uint32_t>(value));
    };
    fill(BlockRow::ctaid_x, index_.x);
    fill(BlockRow::ctaid_y, index_.y);
    fill(BlockRow::ctaid_z, index_.z);
    fill(BlockRow::ntid_x, launch_.block.x);
    fill(BlockRow::ntid_y, launch_.block.y);
    fill(BlockRow::ntid_z, launch_.block.z);
    fill(BlockRow::nctaid_x, launch_.grid.x);
    fill(BlockRow::nctaid_y, launch_.grid.y);
    fill(BlockRow::nctaid_z, launch_.grid.z);
    fill(BlockRow::nwarpid, warps_.size());
    fill(BlockRow::smid, multiprocessor_);
    fill(BlockRow::nsmid, environment.sm_count);
    fill(BlockRow::dynamic_smem_size, launch_.dynamic_shared_bytes);
    fill(BlockRow::total_smem_size, memory_.shared_bytes);
    fill(BlockRow::warp_size, kLanes);
    fill(BlockRow::zero, 0);
    const Dimensions& cluster = launch_.cluster;
    fill(BlockRow::clusterid_x, index_.x / cluster.x);
    fill(BlockRow::clusterid_y, index_.y / cluster.y);
    fill(BlockRow::clusterid_z, index_.z / cluster.z);
    fill(BlockRow::nclusterid_x, launch_.grid.x / cluster.x);
    fill(BlockRow::nclusterid_y, launch_.grid.y / cluster.y);
    fill(BlockRow::nclusterid_z, launch_.grid.z / cluster.z);
    fill(BlockRow::cluster_ctaid_x, index_.x % cluster.x);
    fill(BlockRow::cluster_ctaid_y, index_.y % cluster.y);
    fill(BlockRow::cluster_ctaid_z, index_.z % cluster.z);
    fill(BlockRow::cluster_nctaid_x, cluster.x);
    fill(BlockRow::cluster_nctaid_y, cluster.y);
    fill(BlockRow::cluster_nctaid_z, cluster.z);
    fill(BlockRow::cluster_ctarank, memory_.cluster_rank);
    fill(BlockRow::cluster_nctarank, cluster.count());
    fill(BlockRow::is_explicit_cluster, launch_.explicit_cluster ? kAllLanes : 0);
    auto* const grid_id = reinterpret_cast<std::uint64_t*>(rows_.get() + kGridIdOffset);
    std::fill(grid_id, grid_id + kLanes, environment.grid_id);
}

void Block::start(Dimensions index, std::uint64_t cycles) {
    const Dimensions& grid = launch_.grid;
    index_ = index;
    const std::uint64_t linear = (std::uint64_t{index.z} * grid.y + index.y) * grid.x + index.x;
    multiprocessor_ = static_cast<std::uint32_t>(linear % launch_.environment->sm_count);
    memory_.ended = false;
    std::memset(shared_.get(), 0, memory_.shared_bytes);
    barriers_ = {};
    fill_rows();
    for (auto& warp : warps_) {
        warp->start(launch_.warp_lanes[warp->index()], launch_.warp_rows[warp->index()].data(), rows_.get(), cycles);
    }
    done_ = false;
}

std::uint64_t Block::cycles() const {
    std::uint64_t most = 0;
    for (const auto& warp : warps_) {
        most = std::max(most, warp->context().cycles);
    }
    return most;
}

LaunchStatistics Block::statistics() const {
    LaunchStatistics sum;
    sum.blocks = 1;
    for (const auto& warp : warps_) {
        sum.warp_instructions += warp->warp_instructions();
        sum.lane_instructions += warp->lane_instructions();
    }
    return sum;
}

Dimensions Block::thread_of(std::uint32_t warp, unsigned lane) const {
    const std::uint32_t linear = warp * kLanes + lane;
    const Dimensions& block = launch_.block;
    return {linear % block.x, linear / block.x % block.y, linear / block.x / block.y};
}

void Block::arrive(std::uint32_t barrier, std::uint32_t) {
    barriers_[barrier].arrived += kLanes;
}

/// Counts warps that have come and opens barriers where all are there. True if one opened.
bool Block::complete_barriers() {
    std::uint32_t live = 0;
    for (const auto& warp : warps_) {
        live += warp->state() != WarpState::done ? 1 : 0;
        if (warp->state() == WarpState::blocked && warp->at_barrier() && !warp->counted()) {
            const Warp::AtBarrier& at = *warp->at_barrier();
            Barrier& barrier = barriers_[at.id];
            barrier.arrived += kLanes;
            barrier.ones += static_cast<std::uint32_t>(std::popcount(at.predicates));
            barrier.all = barrier.all && at.predicates == at.lanes;
            warp->set_counted();
        }
    }
    bool opened = false;
    for (std::uint32_t id = 0; id < barriers_.size(); ++id) {
        const Warp* first = nullptr;
        for (const auto& warp : warps_) {
            if (warp->state() == WarpState::blocked && warp->at_barrier() && warp->at_barrier()->id == id) {
                first = warp.get();
                break;
            }
        }
        if (first == nullptr) {
            continue;
        }
        Barrier& barrier = barriers_[id];
        const Warp::AtBarrier at = *first->at_barrier();
        if (barrier.arrived < at.threads.value_or(live * kLanes)) {
            continue;
        }
        const std::uint32_t result = at.action == BarrierAction::reduce_popc  ? barrier.ones
                                     : at.action == BarrierAction::reduce_and ? (barrier.all ? 1U : 0U)
                                                                              : (barrier.ones != 0 ? 1U : 0U);
        const std::uint64_t now = cycles();
        for (const auto& warp : warps_) {
            if (warp->state() == WarpState::blocked && warp->at_barrier() && warp->at_barrier()->id == id) {
                warp->context().cycles = now;
                warp->pass_barrier(result);
            }
        }
        barrier = {};
        opened = true;
    }
    return opened;
}

void Block::report_stuck() {
    std::string waiting;
    Warp* first = nullptr;
    unsigned shown = 0;
    bool beyond_block = false;
    for (const auto& warp : warps_) {
        if (warp->state() != WarpState::blocked) {
            continue;
        }
        first = first == nullptr ? warp.get() : first;
        beyond_block = beyond_block || warp->waits_for_cluster();
        if (++shown <= 4) {
            waiting += (waiting.empty() ? "" : "; ") + warp->describe_waiting();
        }
    }
    first->blame_waiting();
    Context& context = first->context();
    context.fault = {};
    context.fault.kind = beyond_block ? FaultKind::deadlock : FaultKind::divergent_barrier;
    context.fault.lane = static_cast<unsigned>(std::countr_zero(first->live()));
    context.fault.text =
        fmt::format("all warps of the {} wait, and {}; {}{}", launch_.cluster.count() > 1 ? "cluster" : "block",
                    beyond_block ? "nobody else runs who could end that" : "no barrier can complete", waiting,
                    shown > 4 ? "; ..." : "");
    describe_fault(*first);
}

bool Block::run(std::uint64_t steps, AddressCache* caches) {
    bool any_left = false;
    for (const auto& warp : warps_) {
        if (warp->state() == WarpState::blocked) {
            warp->poll_waits();
        }
        if (warp->state() == WarpState::runnable) {
            warp->context().caches = caches;
            if (!warp->run(steps)) {
                describe_fault(*warp);
                return false;
            }
        }
        any_left = any_left || warp->state() != WarpState::done;
    }
    done_ = memory_.ended = !any_left;
    moves_ = !done_ && (complete_barriers() || std::any_of(warps_.begin(), warps_.end(), [](const auto& warp) {
                            return warp->state() == WarpState::runnable;
                        }));
    return true;
}

void Block::describe_fault(Warp& warp) {
    const HandlerFault& what = warp.context().fault;
    const Instruction& instruction = warp.fault_instruction();
    fault_.kind = what.kind;
    fault_.kernel = launch_.program->kernel;
    fault_.block = index_;
    fault_.thread = thread_of(warp.index(), what.lane);
    fault_.address = what.has_address ? what.address : 0;
    fault_.ptx_line = instruction.line;
    fault_.source_line = instruction.source_line;
    if (instruction.source_line != 0 && instruction.source_file < launch_.program->files.size()) {
        fault_.source_file = launch_.program->files[instruction.source_file];
    }
    fault_.text = fmt::format(
        "{} in kernel '{}', block ({}, {}, {}), thread ({}, {}, {}), PTX line {}{}: {}", to_string(what.kind),
        demangle(fault_.kernel), index_.x, index_.y, index_.z, fault_.thread.x, fault_.thread.y, fault_.thread.z,
        fault_.ptx_line,
        fault_.source_file.empty() ? std::string() : fmt::format(" ({}:{})", fault_.source_file, fault_.source_line),
        what.text);
}

}  // namespace egpu::simulated
