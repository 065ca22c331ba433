// SPDX-License-Identifier: Apache-2.0
// Instructions by which the lanes of a warp give each other values: they wait until all lanes that are named have come.
#include <algorithm>
#include <bit>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "gpu/simulated/executor/block.hpp"
#include "gpu/simulated/executor/warp.hpp"

namespace egpu::simulated {

/// The member mask of a collective instruction, as the first of these lanes has it.
Mask Warp::members_of(const Instruction& instruction, Mask lanes) const {
    if (instruction.whole_warp) {
        return kAllLanes;
    }
    if (instruction.implicit_members) {
        return lanes;
    }
    return row_at<const std::uint32_t>(context_, instruction.sources[3])[std::countr_zero(lanes)];
}

/// Lanes that the guard of a waiting instruction leaves out go on without the others; the waiting path is entered.
std::uint32_t Warp::split_off(std::uint32_t path, const Instruction& instruction, Mask active) {
    if (active == nodes_[path].mask) {
        return path;
    }
    const std::uint32_t pc = nodes_[path].pc;
    const std::pair<std::uint32_t, Mask> ways[] = {{pc, active}, {pc + 1, nodes_[path].mask & ~active}};
    Instruction split = instruction;
    split.reconverge = pc + 1;
    diverge(path, split, ways);
    return current_;
}

/// An instruction of the whole warp, all of whose lanes have come to it.
bool Warp::act_together(std::uint32_t path, const Instruction& instruction, Mask come,
                        const std::vector<std::uint32_t>& together) {
    if (come != kAllLanes) {
        return fault_at(instruction, FaultKind::illegal_instruction, static_cast<unsigned>(std::countr_zero(come)),
                        fmt::format("an instruction of all 32 lanes of a warp, which has only {:#010x}", come));
    }
    enter(path);
    fault_instruction_ = &instruction;
    if (!instruction.handler(context_, instruction, come)) {
        return false;
    }
    for (const std::uint32_t node : together) {
        nodes_[node].state = Node::State::ready;
        nodes_[node].pc += 1;
    }
    if (together.size() > 1) {
        merge_equal_paths();
    }
    return true;
}

/// shfl and the like: waits until all live lanes of the member mask have come, at this or at an equal instruction.
bool Warp::collective(std::uint32_t path, const Instruction& instruction, Mask active) {
    Mask found[kLanes];
    std::size_t count = 0;
    for (Mask rest = active; rest != 0; rest &= ~found[count - 1]) {
        found[count++] = lanes_of_same_members(instruction, rest);
    }
    const std::span<const Mask> groups(found, count);
    for (const Mask lanes : groups) {
        const Mask members = members_of(instruction, lanes);
        if ((lanes & ~members) != 0) {
            return fault_at(
                instruction, FaultKind::illegal_instruction, static_cast<unsigned>(std::countr_zero(lanes & ~members)),
                fmt::format("a lane that the member mask {:#010x} leaves out executes this instruction", members));
        }
    }
    const bool all_there = std::all_of(groups.begin(), groups.end(), [&](Mask lanes) {
        return (members_of(instruction, lanes) & live_ & ~lanes) == 0;
    });
    if (all_there) {
        if (instruction.whole_warp) {
            return act_together(path, instruction, active, {path});
        }
        for (const Mask lanes : groups) {
            if (instruction.scatter != nullptr) {
                Exchange exchange;
                exchange.arrived = lanes;
                instruction.gather(context_, instruction, lanes, exchange);
                instruction.scatter(context_, instruction, lanes, exchange);
            }
        }
        nodes_[path].pc += 1;
        return true;
    }
    if (groups.size() == 1) {
        path = split_off(path, instruction, active);
        nodes_[path].state = Node::State::at_collective;
        return complete_collective(path);
    }
    for (const std::uint32_t part : split_by_members(path, instruction, groups)) {
        if (nodes_[part].kind == Node::Kind::path && nodes_[part].state == Node::State::at_collective &&
            !complete_collective(part)) {
            return false;
        }
    }
    return true;
}

/// Of these lanes, those that name the members which the first of them names: tiles of a warp execute one instruction,
/// each with a mask of its own.
Mask Warp::lanes_of_same_members(const Instruction& instruction, Mask lanes) const {
    if (instruction.whole_warp || instruction.implicit_members) {
        return lanes;
    }
    const auto* const members = row_at<const std::uint32_t>(context_, instruction.sources[3]);
    const std::uint32_t first = members[std::countr_zero(lanes)];
    Mask same = 0;
    for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(rest));
        same |= members[lane] == first ? Mask{1} << lane : 0;
    }
    return same;
}

/// A waiting path for each group; lanes that the guard leaves out go on.
std::vector<std::uint32_t> Warp::split_by_members(std::uint32_t path, const Instruction& instruction,
                                                  std::span<const Mask> groups) {
    const std::uint32_t pc = nodes_[path].pc;
    std::vector<std::pair<std::uint32_t, Mask>> ways;
    Mask passing = nodes_[path].mask;
    for (const Mask lanes : groups) {
        ways.emplace_back(pc, lanes);
        passing &= ~lanes;
    }
    if (passing != 0) {
        ways.emplace_back(pc + 1, passing);
    }
    Instruction split = instruction;
    split.reconverge = pc + 1;
    diverge(path, split, ways);
    std::vector<std::uint32_t> parts;
    for (std::uint32_t node = 1; node < nodes_.size(); ++node) {
        Node& part = nodes_[node];
        if (part.kind == Node::Kind::path && part.parent == path && part.pc == pc && part.state == Node::State::ready) {
            part.state = Node::State::at_collective;
            parts.push_back(node);
        }
    }
    return parts;
}

/// Lets a waiting path and those that it exchanges values with go on, if all have come.
bool Warp::complete_collective(std::uint32_t path) {
    enter(path);
    const Instruction& instruction = context_.program->code[nodes_[path].pc];
    const Mask members = members_of(instruction, nodes_[path].mask);
    std::vector<std::uint32_t> together;
    Mask come = 0;
    for (std::uint32_t node = 1; node < nodes_.size(); ++node) {
        const Node& other = nodes_[node];
        if (other.kind != Node::Kind::path || other.state != Node::State::at_collective) {
            continue;
        }
        const Instruction& theirs = context_.program->code[other.pc];
        enter(node);
        // A whole warp acts on the registers of one activation, at one instruction.
        const bool same = instruction.whole_warp
                              ? other.pc == nodes_[path].pc && other.frame == nodes_[path].frame
                              : theirs.gather == instruction.gather && theirs.scatter == instruction.scatter &&
                                    !theirs.whole_warp && members_of(theirs, other.mask) == members;
        if (same) {
            together.push_back(node);
            come |= other.mask;
        }
    }
    enter(path);
    if ((members & live_ & ~come) != 0) {
        return true;
    }
    if (instruction.whole_warp) {
        return act_together(path, instruction, come, together);
    }
    exchange_values(together, come);
    return true;
}

/// All have come: each path gives its lanes' values, then each takes its results and goes on.
void Warp::exchange_values(const std::vector<std::uint32_t>& together, Mask come) {
    Exchange exchange;
    exchange.arrived = come;
    const auto for_each_path = [&](auto act) {
        for (const std::uint32_t node : together) {
            enter(node);
            act(context_.program->code[nodes_[node].pc], nodes_[node].mask);
        }
    };
    for_each_path([&](const Instruction& instruction, Mask lanes) {
        if (instruction.scatter != nullptr) {
            instruction.gather(context_, instruction, lanes, exchange);
        }
    });
    for_each_path([&](const Instruction& instruction, Mask lanes) {
        if (instruction.scatter != nullptr) {
            instruction.scatter(context_, instruction, lanes, exchange);
        }
    });
    for (const std::uint32_t node : together) {
        nodes_[node].state = Node::State::ready;
        nodes_[node].pc += 1;
    }
    merge_equal_paths();
}

}  // namespace egpu::simulated
