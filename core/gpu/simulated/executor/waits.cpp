// SPDX-License-Identifier: Apache-2.0
// Waits that end by what other warps do: the barrier of a cluster and mbarrier objects (PTX ISA 9.0, sections 9.7.13.4
// and 9.7.13.15).
//
// mbarrier.try_wait suspends its path until the phase is complete. It may give up before, so where no warp of the
// cluster can go on all waits end with "false": a kernel that does something else then goes on, one that waits again
// and again without a look at anything is in a deadlock (cluster.cpp). mbarrier.test_wait does not wait; one that is
// asked over and over is taken for a loop around it and treated like try_wait.
#include <bit>

#include <fmt/format.h>

#include "gpu/simulated/executor/block.hpp"
#include "gpu/simulated/executor/warp.hpp"

namespace egpu::simulated {
namespace {
constexpr std::uint64_t kMostVainTests = 1024;
}

/// Lanes that wait for others only to leave the kernel together leave now: a barrier does not wait for them. What a
/// probe does on the way out does not keep them.
///
///     @p bra OUT; ... bar.sync 0; ... OUT: <text of a probe> ret;
bool Warp::release_leaving() {
    const std::vector<Instruction>& code = context_.program->code;
    for (std::uint32_t node = 1; node < nodes_.size(); ++node) {
        const Node& inner = nodes_[node];
        if (inner.kind != Node::Kind::meeting || inner.arrived == 0) {
            continue;
        }
        std::uint32_t pc = inner.pc;
        while (pc < code.size() && code[pc].injected) {
            ++pc;
        }
        if (pc < code.size() && !code[pc].guarded &&
            (code[pc].control == Control::exit || (code[pc].control == Control::ret && inner.depth == 0))) {
            release_arrived(node);
            return true;
        }
    }
    return false;
}

bool Warp::wait(std::uint32_t path, const Instruction& instruction, Mask active) {
    fault_instruction_ = &instruction;
    if (!instruction.handler(context_, instruction, active)) {
        return false;
    }
    if ((active & ~mask_at(context_, instruction.destination)) == 0) {
        vain_tests_ = 0;
        context_.looked = true;
        nodes_[path].pc += 1;
        return true;
    }
    if (instruction.variant == 0 && ++vain_tests_ <= kMostVainTests) {
        nodes_[path].pc += 1;
        choose_path();
        return true;
    }
    path = split_off(path, instruction, active);
    nodes_[path].state = Node::State::at_wait;
    return true;
}

void Warp::poll_waits() {
    const std::uint32_t current = current_;
    for (std::uint32_t node = 1; node < nodes_.size(); ++node) {
        Node& path = nodes_[node];
        if (path.kind != Node::Kind::path || path.state != Node::State::at_wait) {
            continue;
        }
        enter(node);
        const Instruction& instruction = context_.program->code[path.pc];
        const bool fine = instruction.handler(context_, instruction, path.mask);
        if (fine && (path.mask & ~mask_at(context_, instruction.destination)) != 0) {
            continue;
        }
        // What is wrong now is told when the instruction is executed again.
        path.state = Node::State::ready;
        path.pc += fine ? 1 : 0;
        path.steps = 0;
        vain_tests_ = 0;
        context_.looked = true;
        state_ = WarpState::runnable;
    }
    if (current_ != current) {
        enter(current);
    }
}

bool Warp::give_way() {
    if (state_ != WarpState::blocked || at_barrier_) {
        return false;
    }
    if (release_any()) {
        state_ = WarpState::runnable;
        return true;
    }
    bool any = false;
    for (std::uint32_t node = 1; node < nodes_.size(); ++node) {
        Node& path = nodes_[node];
        if (path.kind == Node::Kind::path && path.state == Node::State::at_wait) {
            path.state = Node::State::ready;
            path.pc += 1;
            state_ = WarpState::runnable;
            any = true;
        }
    }
    return any;
}

bool Warp::waits_for_cluster() const {
    for (const Node& node : nodes_) {
        if (node.kind == Node::Kind::path &&
            (node.state == Node::State::at_wait || node.state == Node::State::at_cluster)) {
            return true;
        }
    }
    return false;
}

bool Warp::come_to_cluster_barrier(std::uint32_t path, const Instruction& instruction, Mask active) {
    const auto lane = static_cast<unsigned>(std::countr_zero(active));
    const bool arrives = instruction.variant == 0;
    if (instruction.aligned && active != live_) {
        return fault_at(instruction, FaultKind::divergent_barrier, lane,
                        fmt::format("lanes {:#010x} of a warp {} the cluster's barrier, which all its live lanes "
                                    "({:#010x}) must come to together",
                                    active, arrives ? "arrive at" : "wait at", live_));
    }
    const Mask wrong = arrives ? active & cluster_pending_ : active & ~cluster_pending_;
    if (wrong != 0) {
        return fault_at(instruction, FaultKind::illegal_instruction, static_cast<unsigned>(std::countr_zero(wrong)),
                        arrives ? "barrier.cluster.arrive without barrier.cluster.wait since the last one"
                                : "barrier.cluster.wait without barrier.cluster.arrive before it");
    }
    if (arrives) {
        cluster_arrived_ |= active;
        cluster_pending_ |= active;
        nodes_[path].pc += 1;
        return true;
    }
    if ((active & cluster_arrived_) == 0) {
        cluster_pending_ &= ~active;
        nodes_[path].pc += 1;
        return true;
    }
    path = split_off(path, instruction, active);
    nodes_[path].state = Node::State::at_cluster;
    return true;
}

void Warp::pass_cluster_barrier() {
    cluster_arrived_ = 0;
    for (std::uint32_t node = 1; node < nodes_.size(); ++node) {
        Node& path = nodes_[node];
        if (path.kind == Node::Kind::path && path.state == Node::State::at_cluster) {
            path.state = Node::State::ready;
            path.pc += 1;
            path.steps = 0;
            cluster_pending_ &= ~path.mask;
            state_ = WarpState::runnable;
        }
    }
    context_.looked = true;
    merge_equal_paths();
}

}  // namespace egpu::simulated
