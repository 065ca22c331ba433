// SPDX-License-Identifier: Apache-2.0
// What the walk has seen: a tree of states where paths meet. A path that arrives at a state already covered ends there,
// and takes that state's worst remaining cost as its own.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "ebpf/verifier/domain/state.hpp"
#include "ebpf/verifier/flow/flow.hpp"
#include "ebpf/verifier/rules/rule.hpp"

namespace egpu::ebpf {

class Explored {
public:
    using Node = std::uint32_t;
    static constexpr Node kNone = 0xffffffffu;

    explicit Explored(std::size_t instructions) : by_instruction_(instructions) {}

    enum class Outcome { fresh, covered, endless };
    struct Arrival {
        Outcome outcome = Outcome::fresh;
        Node node = kNone;  ///< fresh: the node to go on from
        Cost remaining;     ///< covered: worst cost from here on
    };
    /// A path coming from `parent` arrives at a place where paths meet. `by_expression`: as of covers().
    Arrival arrive(const State& state, Node parent, bool by_expression);
    /// A second path will start from a node.
    void fork(Node node) { ++nodes_[node].open; }
    /// A path that came from a node ends, at a cost counted from the program's start.
    void finish(Node node, const Cost& total);
    /// The loop that the path to a node is in: a start passed three times or more, most often.
    std::optional<Loop> loop_of(Node node, const Flow& flow) const;

    Cost worst() const { return nodes_.empty() ? Cost{} : nodes_.front().remaining; }
    /// Comparisons made, in values compared: hostile programs make them the walk's main cost.
    std::uint64_t compared() const { return compared_; }
    std::size_t peak() const { return nodes_.size(); }

private:
    struct Entry {
        Node parent = kNone;
        std::uint32_t at = 0;
        std::uint32_t open = 1;  ///< paths from here that haven't ended
        Cost on_arrival;
        Cost remaining;
        std::unique_ptr<State> state;
    };
    void make_room(std::vector<Node>& stored);

    std::vector<Entry> nodes_;
    std::vector<std::vector<Node>> by_instruction_;
    std::uint64_t compared_ = 0;
    std::uint64_t stored_values_ = 0;
};

}  // namespace egpu::ebpf
