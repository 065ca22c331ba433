// SPDX-License-Identifier: Apache-2.0
// Firings that only add constants, grouped: all of a group are executed by the same threads, equally often.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "inject/rewrite/firing.hpp"

namespace egpu::inject {

class FunctionWriter;

/// What a group adds to each element each time.
using Amounts = std::map<ebpf::StaticElement, std::uint32_t>;

struct Group {
    std::vector<const Firing*> firings;  ///< in the order of the text for one program, programs one after the other
    Amounts amounts;                     ///< none is 0
    std::uint32_t loop_depth = 0;
    std::string guard;                            ///< "@%p1 "; a guarded group is one instruction
    const ptx::Instruction* last = nullptr;       ///< of its instructions
    const ptx::Instruction* last_load = nullptr;  ///< null: there is none
};

/// Groups of the entry function. `may_count` tells whether an element may be added to at another time than the program
/// says.
std::vector<Group> find_groups(const RewriteRequest& request, const Plan& plan, const FunctionWriter& entry,
                               const std::function<bool(const ebpf::StaticElement&)>& may_count);

}  // namespace egpu::inject
