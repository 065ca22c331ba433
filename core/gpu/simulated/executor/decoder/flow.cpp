// SPDX-License-Identifier: Apache-2.0
// Immediate post-dominators by the iterative algorithm of Cooper, Harvey and Kennedy ("A Simple, Fast Dominance
// Algorithm", 2001) on the reversed graph.
//
//   A: @p bra C;     blocks A -> B, C; B -> D; C -> D        A reconverges at D
//   B: ... bra D;
//   C: ...
//   D: ret;
#include "gpu/simulated/executor/decoder/flow.hpp"

#include <algorithm>

namespace egpu::simulated {
namespace {

class Flow {
public:
    Flow(Program& program, std::uint32_t begin, std::uint32_t end) : program_(program), begin_(begin), end_(end) {}

    void run() {
        find_blocks();
        find_edges();
        order_from_exit();
        find_dominators();
        for (std::uint32_t block = 0; block < starts_.size(); ++block) {
            Instruction& last = program_.code[last_of(block)];
            if (last.control == Control::branch || last.control == Control::branch_indexed) {
                last.reconverge = place_of_dominator(block);
            }
        }
    }

private:
    static constexpr std::uint32_t kNone = ~std::uint32_t{0};

    static bool ends_block(const Instruction& instruction) {
        switch (instruction.control) {
            case Control::branch:
            case Control::branch_indexed:
            case Control::ret:
            case Control::exit:
            case Control::trap:
                return true;
            default:
                return false;
        }
    }

    template <typename Visit>
    void for_targets(const Instruction& instruction, Visit visit) const {
        if (instruction.control == Control::branch) {
            visit(instruction.target);
        } else if (instruction.control == Control::branch_indexed) {
            for (std::int64_t i = 0; i < instruction.offset; ++i) {
                visit(program_.branch_targets[instruction.list + static_cast<std::uint32_t>(i)]);
            }
        }
    }

    void find_blocks() {
        std::vector<bool> leader(end_ - begin_ + 1, false);
        leader[0] = true;
        for (std::uint32_t pc = begin_; pc < end_; ++pc) {
            for_targets(program_.code[pc], [&](std::uint32_t target) { leader[target - begin_] = true; });
            if (ends_block(program_.code[pc])) {
                leader[pc + 1 - begin_] = true;
            }
        }
        block_of_.resize(end_ - begin_);
        for (std::uint32_t pc = begin_; pc < end_; ++pc) {
            if (leader[pc - begin_]) {
                starts_.push_back(pc);
            }
            block_of_[pc - begin_] = static_cast<std::uint32_t>(starts_.size() - 1);
        }
    }

    std::uint32_t last_of(std::uint32_t block) const {
        return (block + 1 < starts_.size() ? starts_[block + 1] : end_) - 1;
    }

    /// The exit is one more node behind the blocks.
    void find_edges() {
        exit_ = static_cast<std::uint32_t>(starts_.size());
        successors_.resize(exit_ + 1);
        predecessors_.resize(exit_ + 1);
        for (std::uint32_t block = 0; block < exit_; ++block) {
            const std::uint32_t pc = last_of(block);
            const Instruction& last = program_.code[pc];
            for_targets(last, [&](std::uint32_t target) { connect(block, block_of_[target - begin_]); });
            const bool leaves =
                last.control == Control::ret || last.control == Control::exit || last.control == Control::trap;
            if (leaves) {
                connect(block, exit_);
            }
            if (!ends_block(last) || last.guarded) {
                connect(block, pc + 1 < end_ ? block + 1 : exit_);
            }
        }
    }
    void connect(std::uint32_t from, std::uint32_t to) {
        successors_[from].push_back(to);
        predecessors_[to].push_back(from);
    }

    /// Postorder of the reversed graph, from the exit, without recursion.
    void order_from_exit() {
        order_.assign(exit_ + 1, kNone);
        std::vector<bool> seen(exit_ + 1, false);
        std::vector<std::pair<std::uint32_t, std::size_t>> stack{{exit_, 0}};
        seen[exit_] = true;
        while (!stack.empty()) {
            auto& [node, next] = stack.back();
            if (next < predecessors_[node].size()) {
                const std::uint32_t to = predecessors_[node][next++];
                if (!seen[to]) {
                    seen[to] = true;
                    stack.emplace_back(to, 0);
                }
            } else {
                order_[node] = static_cast<std::uint32_t>(postorder_.size());
                postorder_.push_back(node);
                stack.pop_back();
            }
        }
    }

    std::uint32_t meet(std::uint32_t a, std::uint32_t b) const {
        while (a != b) {
            while (order_[a] < order_[b]) {
                a = dominator_[a];
            }
            while (order_[b] < order_[a]) {
                b = dominator_[b];
            }
        }
        return a;
    }

    void find_dominators() {
        dominator_.assign(exit_ + 1, kNone);
        dominator_[exit_] = exit_;
        for (bool changed = true; changed;) {
            changed = false;
            for (auto it = postorder_.rbegin(); it != postorder_.rend(); ++it) {
                if (*it == exit_) {
                    continue;
                }
                std::uint32_t found = kNone;
                for (const std::uint32_t next : successors_[*it]) {
                    if (dominator_[next] != kNone) {
                        found = found == kNone ? next : meet(next, found);
                    }
                }
                if (found != dominator_[*it]) {
                    dominator_[*it] = found;
                    changed = true;
                }
            }
        }
    }

    /// Blocks from which the end can't be reached (endless loops) meet nowhere: kReturn.
    std::uint32_t place_of_dominator(std::uint32_t block) const {
        const std::uint32_t dominator = dominator_[block];
        return dominator == kNone || dominator == exit_ ? kReturn : starts_[dominator];
    }

    Program& program_;
    const std::uint32_t begin_, end_;
    std::uint32_t exit_ = 0;
    std::vector<std::uint32_t> starts_, block_of_, order_, postorder_, dominator_;
    std::vector<std::vector<std::uint32_t>> successors_, predecessors_;
};

}  // namespace

void set_reconvergence(Program& program, std::uint32_t begin, std::uint32_t end) {
    if (begin < end) {
        Flow(program, begin, end).run();
    }
}

}  // namespace egpu::simulated
