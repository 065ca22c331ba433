// SPDX-License-Identifier: Apache-2.0
#include "inject/match/ways_out.hpp"

#include "inject/match/flow.hpp"

namespace egpu::inject {

bool leaves_kernel(const ptx::Function& function, const ptx::Instruction& instruction) {
    return instruction.parts.front() == "exit" || (function.is_entry && instruction.parts.front() == "ret");
}

WaysOut ways_out(const ptx::Module& module, const std::vector<const ptx::Function*>& functions) {
    WaysOut found = WaysOut::none;
    for (const auto* function : functions) {
        const Outline outline(module, *function);
        bool leaves = function->is_entry && may_fall_off_the_end(outline);
        for (const auto& item : outline.items())
            if (const auto* instruction = item.instruction())
                leaves = leaves || leaves_kernel(*function, *instruction);
        if (leaves && !function->is_entry)
            return WaysOut::anywhere;
        if (leaves)
            found = WaysOut::in_entry;
    }
    return found;
}

}  // namespace egpu::inject
