// SPDX-License-Identifier: Apache-2.0
#include "ebpf/verifier/explored.hpp"

#include <algorithm>
#include <map>

namespace egpu::ebpf {
namespace {

/// States kept for one instruction, and values kept in all: more find little and cost memory.
constexpr std::size_t kStatesPerInstruction = 64;
constexpr std::uint64_t kStoredValues = 1'000'000;

std::uint64_t values_in(const State& state) {
    std::uint64_t values = 0;
    for (const Frame& frame : state.frames)
        values += frame.registers.size() + frame.stack.pieces().size();
    return values;
}

}  // namespace

Explored::Arrival Explored::arrive(const State& state, Node parent, bool by_expression) {
    auto& stored = by_instruction_[state.at];
    const std::uint64_t values = values_in(state);
    // The newest first: it is the likeliest to be equal.
    for (auto node = stored.rbegin(); node != stored.rend(); ++node) {
        Entry& entry = nodes_[*node];
        compared_ += values;
        if (!covers(*entry.state, state, by_expression))
            continue;
        if (entry.open == 0)
            return {Outcome::covered, kNone, entry.remaining};
        // Paths are walked depth first, so an open node is an ancestor: the path is in a loop. Equal both ways: nothing
        // has changed in a round, and nothing ever will.
        if (covers(state, *entry.state, by_expression))
            return {Outcome::endless, kNone, {}};
    }
    Entry entry;
    entry.parent = parent;
    entry.at = state.at;
    entry.on_arrival = state.cost;
    if (stored_values_ + values <= kStoredValues) {
        make_room(stored);
        if (stored.size() < kStatesPerInstruction) {
            entry.state = std::make_unique<State>(state);
            stored_values_ += values;
            stored.push_back(static_cast<Node>(nodes_.size()));
        }
    }
    nodes_.push_back(std::move(entry));
    return {Outcome::fresh, static_cast<Node>(nodes_.size() - 1), {}};
}

/// Drops the oldest state that no open path stands on.
void Explored::make_room(std::vector<Node>& stored) {
    if (stored.size() < kStatesPerInstruction)
        return;
    const auto closed = std::find_if(stored.begin(), stored.end(), [&](Node node) { return nodes_[node].open == 0; });
    if (closed == stored.end())
        return;
    stored_values_ -= values_in(*nodes_[*closed].state);
    nodes_[*closed].state.reset();
    stored.erase(closed);
}

void Explored::finish(Node node, const Cost& total) {
    nodes_[node].remaining.raise_to(total - nodes_[node].on_arrival);
    while (--nodes_[node].open == 0 && nodes_[node].parent != kNone) {
        const Entry& child = nodes_[node];
        Entry& parent = nodes_[child.parent];
        parent.remaining.raise_to((child.on_arrival - parent.on_arrival) + child.remaining);
        node = child.parent;
    }
}

std::optional<Loop> Explored::loop_of(Node node, const Flow& flow) const {
    std::map<std::uint32_t, std::uint32_t> passed;
    for (; node != kNone; node = nodes_[node].parent)
        if (flow.back_edge[nodes_[node].at] != Flow::kFunctionEnd)
            ++passed[nodes_[node].at];
    std::optional<Loop> loop;
    std::uint32_t most = 2;
    for (const auto& [at, times] : passed) {
        if (times <= most)
            continue;
        most = times;
        loop = Loop{at, times - 1};
    }
    return loop;
}

}  // namespace egpu::ebpf
