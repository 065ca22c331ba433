// SPDX-License-Identifier: Apache-2.0
#include "inject/match/ways_out.hpp"

#include "inject/match/flow.hpp"

namespace egpu::inject {

bool leaves_kernel(const ptx::Function& function, const ptx::Instruction& instruction) {
    return instruction.parts.front() == "exit" || (function.is_entry && instruction.parts.front() == "ret");
}

bool every_exit_is_in_the_entry(const ptx::Module& module, const std::vector<const ptx::Function*>& functions) {
    bool any = false;
    for (const auto* function : functions) {
        const Outline outline(module, *function);
        for (const auto& item : outline.items()) {
            const auto* instruction = item.instruction();
            if (instruction == nullptr || !leaves_kernel(*function, *instruction))
                continue;
            if (!function->is_entry)
                return false;
            any = true;
        }
        any = any || (function->is_entry && may_fall_off_the_end(outline));
    }
    return any;
}

bool can_leave(const ptx::Module& module, const std::vector<const ptx::Function*>& functions) {
    for (const auto* function : functions) {
        const Outline outline(module, *function);
        if (function->is_entry && may_fall_off_the_end(outline))
            return true;
        for (const auto& item : outline.items())
            if (const auto* instruction = item.instruction();
                instruction != nullptr && leaves_kernel(*function, *instruction))
                return true;
    }
    return false;
}

}  // namespace egpu::inject
