// SPDX-License-Identifier: Apache-2.0
// Edges between instructions, and post-dominators over them. Calls of local functions are one step.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "ebpf/isa/instruction.hpp"

namespace egpu::ebpf {

class Graph {
public:
    explicit Graph(std::span<const Instruction> program);

    std::span<const std::uint32_t> successors(std::uint32_t at) const {
        return {successors_[at].data(), successor_count_[at]};
    }
    std::span<const std::uint32_t> predecessors(std::uint32_t at) const {
        return {predecessors_.data() + first_predecessor_[at], predecessors_.data() + first_predecessor_[at + 1]};
    }
    /// Immediate post-dominator of each instruction: the first one that all paths from it to an exit pass;
    /// Flow::kFunctionEnd where that is the end of the function, or no path ends.
    std::vector<std::uint32_t> joins() const;

private:
    std::vector<std::uint32_t> backward_order(std::uint32_t end) const;

    std::vector<std::array<std::uint32_t, 2>> successors_;
    std::vector<std::uint8_t> successor_count_;
    std::vector<std::uint32_t> predecessors_, first_predecessor_;
    std::vector<std::uint32_t> exits_;
};

}  // namespace egpu::ebpf
