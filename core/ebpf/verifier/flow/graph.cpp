// SPDX-License-Identifier: Apache-2.0
#include "ebpf/verifier/flow/graph.hpp"

#include <algorithm>

#include "ebpf/verifier/flow/flow.hpp"

namespace egpu::ebpf {

Graph::Graph(std::span<const Instruction> program)
    : successors_(program.size()), successor_count_(program.size()), first_predecessor_(program.size() + 1) {
    const auto connect = [this](std::uint32_t from, std::uint32_t to) {
        successors_[from][successor_count_[from]++] = to;
        ++first_predecessor_[to + 1];
    };
    const auto size = static_cast<std::uint32_t>(program.size());
    for (std::uint32_t at = 0; at < size; ++at) {
        const Instruction& i = program[at];
        if (i.opcode == kExit) {
            exits_.push_back(at);
        } else if (is_goto(i)) {
            connect(at, target_of(i, at));
        } else {
            const std::uint32_t next = at + (i.opcode == kLoadImmediate64 ? 2 : 1);
            if (next < size)
                connect(at, next);
            if (is_conditional_jump(i))
                connect(at, target_of(i, at));
        }
        if (i.opcode == kLoadImmediate64)
            ++at;
    }
    for (std::size_t i = 1; i < first_predecessor_.size(); ++i)
        first_predecessor_[i] += first_predecessor_[i - 1];
    predecessors_.resize(first_predecessor_.back());
    std::vector<std::uint32_t> filled(first_predecessor_.begin(), first_predecessor_.end() - 1);
    for (std::uint32_t at = 0; at < size; ++at)
        for (const std::uint32_t next : successors(at))
            predecessors_[filled[next]++] = at;
}

/// Nodes of the reversed graph that the end reaches, in postorder (the end itself last).
std::vector<std::uint32_t> Graph::backward_order(std::uint32_t end) const {
    std::vector<std::uint32_t> order;
    std::vector<std::uint8_t> seen(end + 1);
    std::vector<std::pair<std::uint32_t, std::size_t>> path{{end, 0}};
    while (!path.empty()) {
        auto& [node, next] = path.back();
        const std::span<const std::uint32_t> before =
            node == end ? std::span<const std::uint32_t>(exits_) : predecessors(node);
        if (next == before.size()) {
            order.push_back(node);
            path.pop_back();
            continue;
        }
        const std::uint32_t child = before[next++];
        if (!seen[child]) {
            seen[child] = 1;
            path.emplace_back(child, 0);
        }
    }
    return order;
}

/// Cooper, Harvey, Kennedy, "A Simple, Fast Dominance Algorithm", on the reversed graph.
std::vector<std::uint32_t> Graph::joins() const {
    const auto end = static_cast<std::uint32_t>(successors_.size());
    const std::vector<std::uint32_t> order = backward_order(end);
    constexpr std::uint32_t kNone = 0xffffffffu;
    std::vector<std::uint32_t> rank(end + 1, kNone), dominator(end + 1, kNone);
    for (std::uint32_t i = 0; i < order.size(); ++i)
        rank[order[i]] = i;
    dominator[end] = end;
    const auto common = [&](std::uint32_t a, std::uint32_t b) {
        while (a != b) {
            while (rank[a] < rank[b])
                a = dominator[a];
            while (rank[b] < rank[a])
                b = dominator[b];
        }
        return a;
    };
    const auto best_of = [&](std::uint32_t node) {
        std::uint32_t best = successor_count_[node] == 0 ? end : kNone;
        for (const std::uint32_t next : successors(node))
            if (rank[next] != kNone && dominator[next] != kNone)
                best = best == kNone ? next : common(best, next);
        return best;
    };
    for (bool changed = true; changed;) {
        changed = false;
        for (auto node = order.rbegin() + 1; node != order.rend(); ++node) {
            const std::uint32_t best = best_of(*node);
            changed = changed || dominator[*node] != best;
            dominator[*node] = best;
        }
    }
    dominator.pop_back();
    std::replace(dominator.begin(), dominator.end(), end, Flow::kFunctionEnd);
    return dominator;
}

}  // namespace egpu::ebpf
