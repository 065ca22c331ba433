// SPDX-License-Identifier: Apache-2.0
// Firings that are counted instead of written out, and the registers that hold counts and sums until the thread leaves
// the kernel (DESIGN 7).
#pragma once

#include <set>
#include <vector>

#include "inject/rewrite/firing.hpp"

namespace egpu::inject {

class FunctionWriter;

/// One place in the entry function that stands for all firings of its group.
struct Count {
    const ptx::Instruction* at = nullptr;
    bool after = false;  ///< behind the instruction: nothing waits for a load meanwhile
    std::string guard;   ///< of the instruction, "@%p1 "
    struct Add {
        std::size_t accumulator = 0;
        std::uint32_t amount = 0;
    };
    std::vector<Add> adds;      ///< to registers
    std::vector<Share> shares;  ///< to elements, by the lanes that are here; unguarded only
};

struct Sums {
    std::vector<Accumulator> accumulators;
    std::vector<Count> counts;
    std::set<const Firing*> counted;  ///< those that `counts` stands for
};

/// At most `accumulator_budget` registers, for what stands deepest in loops. None where a sum could not be flushed: no
/// way out of the kernel goes through the entry function, or one goes round it.
Sums choose_sums(const RewriteRequest& request, const Plan& plan, const FunctionWriter& entry);

}  // namespace egpu::inject
