// SPDX-License-Identifier: Apache-2.0
// One PTX instruction is one or several decoded ones: the first counts who came, the one that accesses memory counts
// spaces.
#include "gpu/simulated/executor/profile.hpp"

#include <bit>

#include "gpu/simulated/executor/operations/memory.hpp"

namespace egpu::simulated {
namespace {

std::uint64_t lanes_in(Mask mask) {
    return static_cast<std::uint64_t>(std::popcount(mask));
}
void add(std::atomic<std::uint64_t>& to, std::uint64_t value) {
    to.fetch_add(value, std::memory_order_relaxed);
}

}  // namespace

Profile::Profile(std::shared_ptr<const Kernel> kernel)
    : kernel_(std::move(kernel)), counts_(kernel_->program->code.size()) {
    std::uint32_t first = 0;
    for (std::uint32_t pc = 0; pc < counts_.size(); ++pc) {
        first = kernel_->program->origins[pc] != kNowhere ? pc : first;
        first_.push_back(first);
    }
}

void Profile::count(const Context& context, std::uint32_t pc, Mask there, Mask active) {
    Counts& own = counts_[pc];
    add(own.groups_there, 1);
    add(own.lanes_there, lanes_in(there));
    if (active == 0) {
        return;
    }
    add(own.groups, 1);
    add(own.lanes, lanes_in(active));
    const Instruction& instruction = kernel_->program->code[pc];
    if (instruction.control == Control::none && is_generic(instruction.resolve)) {
        const LanesBySpace spaces = lanes_by_space(context, instruction, active);
        Counts& whole = counts_[first_[pc]];
        add(whole.shared, lanes_in(spaces.shared));
        add(whole.local, lanes_in(spaces.local));
        add(whole.parameter, lanes_in(spaces.parameter));
    }
}

std::vector<Executed> Profile::instructions() const {
    std::vector<Executed> all;
    for (std::uint32_t pc = 0; pc < counts_.size(); ++pc) {
        const std::uint32_t offset = kernel_->program->origins[pc];
        if (offset == kNowhere) {
            continue;
        }
        const Counts& counts = counts_[pc];
        all.push_back({offset, counts.groups_there, counts.lanes_there, counts.groups, counts.lanes, counts.shared,
                       counts.local, counts.parameter});
    }
    return all;
}

}  // namespace egpu::simulated
