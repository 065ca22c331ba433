// SPDX-License-Identifier: Apache-2.0
// The tree of paths of a warp: divergence, meeting, leaving.
#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "gpu/simulated/executor/block.hpp"
#include "gpu/simulated/executor/operations/mbarrier.hpp"
#include "gpu/simulated/executor/warp.hpp"

namespace egpu::simulated {

std::uint32_t Warp::new_node() {
    if (!free_nodes_.empty()) {
        const std::uint32_t node = free_nodes_.back();
        free_nodes_.pop_back();
        nodes_[node] = Node{};
        return node;
    }
    nodes_.emplace_back();
    return static_cast<std::uint32_t>(nodes_.size() - 1);
}

void Warp::free_node(std::uint32_t node) {
    if (nodes_[node].kind == Node::Kind::call) {
        frames_[nodes_[node].callee_frame].used = false;
    }
    nodes_[node].kind = Node::Kind::free;
    free_nodes_.push_back(node);
}

/// Makes a path the one that handlers act for.
void Warp::enter(std::uint32_t path) {
    current_ = path;
    const Frame& frame = frames_[nodes_[path].frame];
    context_.base[static_cast<unsigned>(RowBase::frame)] = frame.rows.get();
    context_.local_base = frame.local_base;
}

/// Lanes of the path go different ways. Ways that lead straight to where the path meets its parent, or to the branch's
/// own meeting point, wait there at once.
void Warp::diverge(std::uint32_t path, const Instruction& instruction,
                   std::span<const std::pair<std::uint32_t, Mask>> ways) {
    const std::uint32_t meets = instruction.reconverge;
    // A loop that lanes leave one by one: they meet where the lanes before them wait already.
    if (nodes_[path].meets == meets && meets != kReturn) {
        std::pair<std::uint32_t, Mask> staying{kNowhere, 0};
        Mask leaving = 0;
        unsigned others = 0;
        for (const auto& way : ways) {
            if (way.first == meets) {
                leaving |= way.second;
            } else {
                staying = way;
                ++others;
            }
        }
        if (others == 1 && leaving != 0) {
            nodes_[path].mask = staying.second;
            nodes_[path].pc = staying.first;
            nodes_[nodes_[path].parent].arrived |= leaving;
            return;
        }
    }
    Node& meeting = nodes_[path];
    meeting.kind = Node::Kind::meeting;
    meeting.pc = meets;
    meeting.arrived = 0;
    const std::uint32_t frame = meeting.frame;
    const std::uint32_t depth = meeting.depth;
    std::uint32_t first = kNowhere;
    for (const auto& [target, lanes] : ways) {
        if (target == meets) {
            nodes_[path].arrived |= lanes;
            continue;
        }
        const std::uint32_t child = new_node();
        Node& node = nodes_[child];
        node.kind = Node::Kind::path;
        node.parent = path;
        node.pc = target;
        node.meets = meets;
        node.mask = lanes;
        node.frame = frame;
        node.depth = depth;
        first = first == kNowhere ? child : first;
    }
    if (first != kNowhere) {
        enter(first);
    } else {
        settle(path);  // both ways lead to the meeting
    }
}

/// The path has come to where it meets its parent.
void Warp::arrive(std::uint32_t path) {
    const std::uint32_t parent = nodes_[path].parent;
    nodes_[parent].arrived |= nodes_[path].mask;
    free_node(path);
    settle(parent);
}

/// Turns inner nodes whose lanes have all come back into paths, and drops those that have none left, up the tree.
void Warp::settle(std::uint32_t node) {
    while (node != 0) {
        Node& inner = nodes_[node];
        const std::uint32_t parent = inner.parent;
        if (inner.kind == Node::Kind::path || inner.kind == Node::Kind::free) {
            return;
        }
        if (inner.mask == 0) {
            free_node(node);
        } else if (inner.arrived == inner.mask) {
            if (inner.kind == Node::Kind::call) {
                frames_[inner.callee_frame].used = false;
            }
            inner.kind = Node::Kind::path;
            inner.state = Node::State::ready;
            inner.arrived = 0;
            if (inner.pc != inner.meets) {
                return;
            }
            nodes_[parent].arrived |= inner.mask;
            free_node(node);
        } else {
            return;
        }
        node = parent;
    }
}

/// Lanes leave the kernel.
void Warp::exit_lanes(std::uint32_t path, Mask lanes) {
    live_ &= ~lanes;
    for (std::uint32_t node = path; node != 0; node = nodes_[node].parent) {
        nodes_[node].mask &= ~lanes;
    }
    if (nodes_[path].mask == 0) {
        free_node(path);
    }
    // Any node above may have lost the last lanes that it was waiting for.
    for (std::uint32_t node = 1; node < nodes_.size(); ++node) {
        const Node& inner = nodes_[node];
        if ((inner.kind == Node::Kind::meeting || inner.kind == Node::Kind::call) && inner.arrived == inner.mask) {
            settle(node);
        }
    }
    merge_equal_paths();
}

/// Lanes return from a function (from the kernel: they exit).
void Warp::return_lanes(std::uint32_t path, Mask lanes) {
    std::uint32_t caller = nodes_[path].parent;
    while (caller != 0 && nodes_[caller].kind != Node::Kind::call) {
        caller = nodes_[caller].parent;
    }
    if (caller == 0) {
        exit_lanes(path, lanes);
        return;
    }
    const CallSite& site = context_.program->calls[nodes_[caller].call_site];
    const FunctionCode& function = context_.program->functions[frames_[nodes_[caller].callee_frame].function];
    pass(function.returns, nodes_[caller].callee_frame, site.results, nodes_[caller].frame, lanes);
    nodes_[caller].arrived |= lanes;
    std::vector<std::uint32_t> left;
    for (std::uint32_t node = path; node != caller; node = nodes_[node].parent) {
        nodes_[node].mask &= ~lanes;
        left.push_back(node);
    }
    if (nodes_[path].mask == 0) {
        free_node(path);
    }
    for (const std::uint32_t node : left) {
        settle(node);
    }
    settle(caller);
}

/// Lanes that have come to a meeting go on without the others.
void Warp::release_arrived(std::uint32_t node) {
    const std::uint32_t freed = new_node();
    Node& inner = nodes_[node];
    Node& alone = nodes_[freed];
    alone.kind = Node::Kind::path;
    alone.parent = inner.parent;
    alone.pc = inner.pc;
    alone.meets = inner.meets;
    alone.mask = inner.arrived;
    alone.frame = inner.frame;
    alone.depth = inner.depth;
    inner.mask &= ~inner.arrived;
    inner.arrived = 0;
}

/// Lanes that wait for this path at the nearest meeting above it go on without it.
bool Warp::release_waiting(std::uint32_t path) {
    for (std::uint32_t node = nodes_[path].parent; node != 0; node = nodes_[node].parent) {
        if (nodes_[node].arrived != 0) {
            release_arrived(node);
            return true;
        }
    }
    return false;
}

bool Warp::release_any() {
    for (std::uint32_t node = 1; node < nodes_.size(); ++node) {
        if (nodes_[node].kind == Node::Kind::path && release_waiting(node)) {
            return true;
        }
    }
    return false;
}

/// Paths at one place in one activation become one.
void Warp::merge_equal_paths() {
    for (std::uint32_t a = 1; a < nodes_.size(); ++a) {
        for (std::uint32_t b = a + 1; nodes_[a].kind == Node::Kind::path && b < nodes_.size(); ++b) {
            Node& one = nodes_[a];
            Node& other = nodes_[b];
            // Lanes at a collective may name different members: what they wait for tells them apart.
            if (other.kind == Node::Kind::path && other.state == one.state && one.state != Node::State::at_collective &&
                other.pc == one.pc && other.frame == one.frame && other.parent == one.parent &&
                other.meets == one.meets) {
                one.mask |= other.mask;
                free_node(b);
                if (current_ == b) {
                    enter(a);
                }
            }
        }
    }
}

/// A barrier of the block: the path waits there; arrive goes on at once.
bool Warp::come_to_barrier(std::uint32_t path, const Instruction& instruction, Mask active) {
    const auto lane = static_cast<unsigned>(std::countr_zero(active));
    const std::uint32_t id = row_at<const std::uint32_t>(context_, instruction.sources[0])[lane];
    if (id >= 16) {
        return fault_at(instruction, FaultKind::illegal_instruction, lane, fmt::format("barrier {} of 16", id));
    }
    if (instruction.has_second) {
        const std::uint32_t threads = row_at<const std::uint32_t>(context_, instruction.sources[1])[lane];
        if (threads == 0 || threads % kLanes != 0) {
            return fault_at(instruction, FaultKind::illegal_instruction, lane,
                            fmt::format("a barrier of {} threads, which is not a multiple of 32", threads));
        }
    }
    if (static_cast<BarrierAction>(instruction.variant) == BarrierAction::arrive) {
        if (instruction.aligned && active != live_) {
            return fault_at(
                instruction, FaultKind::divergent_barrier, lane,
                fmt::format("lanes {:#010x} of a warp arrive at a barrier that all its live lanes ({:#010x}) "
                            "must come to together",
                            active, live_));
        }
        arrive_masks_[id] |= active;
        if ((live_ & ~arrive_masks_[id]) == 0) {
            arrive_masks_[id] = 0;
            block_.arrive(id, row_at<const std::uint32_t>(context_, instruction.sources[1])[lane]);
        }
        nodes_[path].pc += 1;
        return true;
    }
    path = split_off(path, instruction, active);
    nodes_[path].state = Node::State::at_barrier;
    return true;
}

/// Notes the barrier where all live lanes of the warp wait for one.
void Warp::note_barrier() {
    AtBarrier found;
    for (std::uint32_t node = 1; node < nodes_.size(); ++node) {
        const Node& path = nodes_[node];
        if (path.kind != Node::Kind::path) {
            continue;
        }
        if (path.state != Node::State::at_barrier) {
            return;
        }
        enter(node);
        const Instruction& instruction = context_.program->code[path.pc];
        const auto lane = static_cast<unsigned>(std::countr_zero(path.mask));
        const std::uint32_t id = row_at<const std::uint32_t>(context_, instruction.sources[0])[lane];
        if (found.lanes != 0 && id != found.id) {
            return;
        }
        found.id = id;
        if (instruction.has_second) {
            found.threads = row_at<const std::uint32_t>(context_, instruction.sources[1])[lane];
        }
        found.action = static_cast<BarrierAction>(instruction.variant);
        if (found.action != BarrierAction::sync) {
            const Mask flip = instruction.source_negated ? kAllLanes : 0;
            found.predicates |= (mask_at(context_, instruction.sources[2]) ^ flip) & path.mask;
        }
        found.lanes |= path.mask;
        found.line = instruction.line;
    }
    if (found.lanes != 0 && found.lanes == live_) {
        at_barrier_ = found;
        counted_ = false;
    }
}

void Warp::pass_barrier(std::uint32_t result) {
    for (std::uint32_t node = 1; node < nodes_.size(); ++node) {
        Node& path = nodes_[node];
        if (path.kind != Node::Kind::path || path.state != Node::State::at_barrier) {
            continue;
        }
        enter(node);
        const Instruction& instruction = context_.program->code[path.pc];
        const auto action = static_cast<BarrierAction>(instruction.variant);
        if (action == BarrierAction::reduce_popc) {
            auto* const row = row_at<std::uint32_t>(context_, instruction.destination);
            for (Mask rest = path.mask; rest != 0; rest &= rest - 1) {
                row[std::countr_zero(rest)] = result;
            }
        } else if (action != BarrierAction::sync) {
            Mask& destination = mask_at(context_, instruction.destination);
            destination = (destination & ~path.mask) | (result != 0 ? path.mask : 0);
        }
        path.state = Node::State::ready;
        path.pc += 1;
        path.steps = 0;
    }
    at_barrier_.reset();
    merge_equal_paths();
    state_ = WarpState::runnable;
}

void Warp::blame_waiting() {
    for (std::uint32_t node = 1; node < nodes_.size(); ++node) {
        if (nodes_[node].kind == Node::Kind::path) {
            fault_instruction_ = &context_.program->code[nodes_[node].pc];
            return;
        }
    }
}

std::string Warp::describe_waiting() {
    std::string text = fmt::format("warp {}:", index_);
    unsigned shown = 0;
    for (std::uint32_t node = 1; node < nodes_.size(); ++node) {
        const Node& inner = nodes_[node];
        if (inner.kind == Node::Kind::path) {
            if (++shown > 4) {
                return text + " ...";
            }
            const Instruction& instruction = context_.program->code[inner.pc];
            text += fmt::format(" lanes {:#010x} at PTX line {}", inner.mask, instruction.line);
            if (inner.state == Node::State::at_wait) {
                enter(node);
                text += fmt::format(" ({})", describe_mbarrier(context_, instruction,
                                                               static_cast<unsigned>(std::countr_zero(inner.mask))));
            } else {
                text += inner.state == Node::State::at_barrier      ? " (barrier)"
                        : inner.state == Node::State::at_collective ? " (waiting for lanes of the warp)"
                        : inner.state == Node::State::at_cluster    ? " (barrier of the cluster)"
                                                                    : "";
            }
        } else if (inner.kind != Node::Kind::free && inner.arrived != 0) {
            text += fmt::format(" lanes {:#010x} past it", inner.arrived);
        }
    }
    return text;
}

}  // namespace egpu::simulated
