// SPDX-License-Identifier: Apache-2.0
// The instruction loop of a warp.
#include "gpu/simulated/executor/warp.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "gpu/simulated/executor/block.hpp"
#include "gpu/simulated/executor/profile.hpp"

namespace egpu::simulated {
namespace {

/// Instructions for which lanes at a meeting wait for a path: few where each of its turns does what waiting loops do,
/// many otherwise, as every release costs the lock step that counts per warp rest on.
constexpr std::uint64_t kSpinPatience = 16'384;
constexpr std::uint64_t kPatience = std::uint64_t{1} << 22;

std::uint64_t count_lanes(Mask mask) {
    return mask == kAllLanes ? kLanes : static_cast<std::uint64_t>(std::popcount(mask));
}

}  // namespace

void Warp::start(Mask lanes, std::byte* warp_rows, std::byte* block_rows, std::uint64_t cycles) {
    const Launch& launch = block_.launch();
    const Program& program = *launch.program;
    context_.base[static_cast<unsigned>(RowBase::warp)] = warp_rows;
    context_.base[static_cast<unsigned>(RowBase::block)] = block_rows;
    // Constants are never written: no instruction's destination is a constant row.
    context_.base[static_cast<unsigned>(RowBase::constants)] = const_cast<std::byte*>(program.constants.data());
    context_.program = &program;
    context_.memory = launch.environment->memory;
    context_.block = &block_.memory();
    context_.cycles = cycles;
    context_.carry = 0;
    nodes_.clear();
    free_nodes_.clear();
    nodes_.resize(2);
    for (Frame& frame : frames_) {
        frame.used = false;
    }
    local_.clear();
    context_.local_stride = 0;
    reserve_local(program.functions[0].local_bytes);
    Node& path = nodes_[1];
    path.kind = Node::Kind::path;
    path.pc = program.functions[0].entry;
    path.mask = lanes;
    path.frame = new_frame(0, 0);
    nodes_[0].mask = lanes;
    live_ = lanes;
    at_barrier_.reset();
    counted_ = false;
    std::fill(std::begin(arrive_masks_), std::end(arrive_masks_), Mask{0});
    cluster_arrived_ = cluster_pending_ = 0;
    vain_tests_ = 0;
    warp_instructions_ = lane_instructions_ = 0;
    state_ = WarpState::runnable;
    enter(1);
}

bool Warp::fault_at(const Instruction& instruction, FaultKind kind, unsigned lane, std::string text) {
    fault_instruction_ = &instruction;
    context_.fault.kind = kind;
    context_.fault.lane = lane;
    context_.fault.text = std::move(text);
    return false;
}

bool Warp::trap(const Instruction& instruction, Mask active) {
    return fault_at(instruction, FaultKind::trap, static_cast<unsigned>(std::countr_zero(active)),
                    instruction.variant == 0 ? "trap" : "brkpt");
}

/// The next ready path after the current one; false where all wait.
bool Warp::choose_path() {
    poll_waits();
    const auto count = static_cast<std::uint32_t>(nodes_.size());
    for (std::uint32_t i = 1; i <= count; ++i) {
        const std::uint32_t node = (current_ + i) % count;
        if (node != 0 && nodes_[node].kind == Node::Kind::path && nodes_[node].state == Node::State::ready) {
            enter(node);
            return true;
        }
    }
    return false;
}

/// No path can go on. Either the warp waits for its block, or lanes that wait for each other are let go.
bool Warp::blocked() {
    merge_equal_paths();
    note_barrier();
    if (release_leaving()) {
        return true;
    }
    const bool waits = waits_for_cluster();
    for (std::uint32_t node = 1; node < nodes_.size(); ++node) {
        const Node& path = nodes_[node];
        if (path.kind != Node::Kind::path || path.state != Node::State::at_barrier) {
            continue;
        }
        const Instruction& instruction = context_.program->code[path.pc];
        if (instruction.aligned && path.mask != live_ && !waits) {
            return fault_at(
                instruction, FaultKind::divergent_barrier, static_cast<unsigned>(std::countr_zero(path.mask)),
                fmt::format("lanes {:#010x} of a warp wait at a barrier that all its live lanes ({:#010x}) must "
                            "come to together; {}",
                            path.mask, live_, describe_waiting()));
        }
    }
    if (!at_barrier_ && !waits && release_any()) {
        return true;
    }
    state_ = WarpState::blocked;
    return true;
}

/// Runs the current path until it ends, waits, diverges, or has had its steps.
template <bool Profiled>
bool Warp::run_path(std::uint64_t steps) {
    const std::uint32_t index = current_;
    const Instruction* const code = context_.program->code.data();
    const Mask mask = nodes_[index].mask;
    const std::uint32_t meets = nodes_[index].meets;
    std::uint32_t pc = nodes_[index].pc;
    std::uint64_t executed = 0, counted = 0, lanes = 0;
    bool leave = false, fine = true, spins = false, moved = false;
    while (!leave && fine) {
        if (pc == meets) {
            nodes_[index].pc = pc;
            arrive(index);
            leave = moved = true;
            break;
        }
        const Instruction& instruction = code[pc];
        Mask active = mask;
        if (instruction.guarded) {
            active &= mask_at(context_, instruction.guard) ^ (instruction.guard_negated ? kAllLanes : 0);
        }
        if constexpr (Profiled) {
            block_.launch().environment->profile->count(context_, pc, mask, active);
        }
        ++executed;
        lanes += count_lanes(active);
        context_.cycles += instruction.cost;
        if (instruction.control == Control::none) {
            if (active != 0) {
                spins |= instruction.spins;
                fine = instruction.handler(context_, instruction, active);
                fault_instruction_ = &instruction;
            }
            ++pc;
        } else if (instruction.control == Control::branch && (active == mask || active == 0)) {
            leave = active != 0 && instruction.target <= pc && executed >= steps;
            pc = active != 0 ? instruction.target : pc + 1;
        } else if (active == 0) {
            ++pc;
        } else {
            nodes_[index].pc = pc;
            const Control control = instruction.control;
            if (control == Control::branch || control == Control::branch_indexed || control == Control::yield) {
                count_steps(index, executed - counted, spins || control == Control::yield);
                counted = executed;
                let_go_if_spinning(index);
            }
            leave = moved = true;
            fine = step_control(index, instruction, active, pc, leave);
            moved = leave;
        }
    }
    warp_instructions_ += executed;
    lane_instructions_ += lanes;
    context_.looked |= spins;
    if (moved || !fine) {
        return fine;
    }
    nodes_[index].pc = pc;
    count_steps(index, executed - counted, spins);
    let_go_if_spinning(index);
    choose_path();
    return true;
}

bool Warp::run(std::uint64_t steps) {
    const std::uint64_t until = warp_instructions_ + steps;
    const bool profiled = block_.launch().environment->profile != nullptr;
    while (state_ == WarpState::runnable && warp_instructions_ < until) {
        if (live_ == 0) {
            state_ = WarpState::done;
            break;
        }
        const Node& path = nodes_[current_];
        if ((path.kind != Node::Kind::path || path.state != Node::State::ready) && !choose_path()) {
            if (!blocked()) {
                return false;
            }
            continue;
        }
        const std::uint64_t rest = until - warp_instructions_;
        if (!(profiled ? run_path<true>(rest) : run_path<false>(rest))) {
            return false;
        }
    }
    if (live_ == 0) {
        state_ = WarpState::done;
    }
    return true;
}

void Warp::count_steps(std::uint32_t index, std::uint64_t steps, bool spins) {
    Node& path = nodes_[index];
    path.steps += steps;
    // A loop that waits may have turns without a look at what it waits for.
    path.spin_steps = spins ? path.spin_steps + steps : path.spin_steps - std::min(path.spin_steps, steps / 2);
}

/// Where lanes have waited long enough for this path, they go on without it.
void Warp::let_go_if_spinning(std::uint32_t index) {
    Node& path = nodes_[index];
    if (path.spin_steps > kSpinPatience || path.steps > kPatience) {
        path.steps = path.spin_steps = 0;
        release_waiting(index);
    }
}

/// Everything that is not one handler. `leave`: the tree has changed, or the path is not to go on at once.
bool Warp::step_control(std::uint32_t index, const Instruction& instruction, Mask active, std::uint32_t& pc,
                        bool& leave) {
    const Mask mask = nodes_[index].mask;
    switch (instruction.control) {
        case Control::branch: {
            const std::pair<std::uint32_t, Mask> ways[] = {{pc + 1, mask & ~active}, {instruction.target, active}};
            diverge(index, instruction, ways);
            return true;
        }
        case Control::branch_indexed: {
            const auto* const chosen = row_at<const std::uint32_t>(context_, instruction.sources[0]);
            std::vector<std::pair<std::uint32_t, Mask>> ways;
            if ((mask & ~active) != 0) {
                ways.emplace_back(pc + 1, mask & ~active);
            }
            for (Mask rest = active; rest != 0; rest &= rest - 1) {
                const auto lane = static_cast<unsigned>(std::countr_zero(rest));
                if (chosen[lane] >= static_cast<std::uint64_t>(instruction.offset)) {
                    return fault_at(instruction, FaultKind::illegal_instruction, lane,
                                    fmt::format("index {} of {} branch targets", chosen[lane], instruction.offset));
                }
                const std::uint32_t target = context_.program->branch_targets[instruction.list + chosen[lane]];
                const auto known =
                    std::find_if(ways.begin(), ways.end(), [&](const auto& way) { return way.first == target; });
                if (known != ways.end()) {
                    known->second |= Mask{1} << lane;
                } else {
                    ways.emplace_back(target, Mask{1} << lane);
                }
            }
            if (ways.size() == 1) {
                leave = ways.front().first <= pc;  // backwards: the steps are checked outside
                pc = ways.front().first;
                nodes_[index].pc = pc;
                return true;
            }
            diverge(index, instruction, ways);
            return true;
        }
        case Control::call:
        case Control::call_indirect:
            return call(index, instruction, active);
        case Control::call_builtin:
            leave = false;
            if (!call_builtin(instruction, active)) {
                fault_instruction_ = &instruction;
                leave = true;
                return false;
            }
            ++pc;
            return true;
        case Control::ret:
        case Control::exit:
            // Lanes that stay go on behind the instruction.
            nodes_[index].pc = pc + 1;
            if (instruction.control == Control::ret) {
                return_lanes(index, active);
            } else {
                exit_lanes(index, active);
            }
            return true;
        case Control::trap:
            return trap(instruction, active);
        case Control::collective:
            if (!collective(index, instruction, active)) {
                return false;
            }
            // The usual case: all lanes were there, and nothing has moved.
            leave = current_ != index || nodes_[index].kind != Node::Kind::path || nodes_[index].pc != pc + 1 ||
                    nodes_[index].mask != mask;
            pc = leave ? pc : pc + 1;
            return true;
        case Control::barrier:
            return come_to_barrier(index, instruction, active);
        case Control::cluster_barrier:
            return come_to_cluster_barrier(index, instruction, active);
        case Control::wait:
            return wait(index, instruction, active);
        default:
            // nanosleep: the other paths and warps have their turn.
            nodes_[index].pc = pc + 1;
            nodes_[index].spin_steps += kSpinPatience / 16;
            let_go_if_spinning(index);
            choose_path();
            return true;
    }
}

}  // namespace egpu::simulated
