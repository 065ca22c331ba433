// SPDX-License-Identifier: Apache-2.0
// Programs at kernel_entry stand behind the declarations and before the first label or instruction, so a loop that
// begins with the function's first instruction does not run them again.
//
//   before:  .reg .b32 %r<4>;         after:  .reg .b32 %r<4>;
//            $L1: add.u32 ...                 <addresses> <accumulators = 0> <programs>
//                                             $L1: add.u32 ...
#include <fmt/format.h>

#include "inject/rewrite/writer.hpp"

namespace egpu::inject {
namespace {

/// The first statement that is executed or can be jumped to. Pragmas at the head of a function keep their place.
std::uint32_t start_offset(const ptx::Function& function) {
    for (const auto& statement : function.body->statements) {
        if (const auto* instruction = std::get_if<ptx::Instruction>(&statement))
            return instruction->range.begin;
        if (const auto* label = std::get_if<ptx::Label>(&statement))
            return label->range.begin;
        if (const auto* scope = std::get_if<std::unique_ptr<ptx::Scope>>(&statement))
            return (*scope)->range.begin;
    }
    return function.body->close.begin;
}

}  // namespace

Status rewrite_start(FunctionWriter& writer, const Firings& firings) {
    std::string text = writer.request().function_start ? writer.request().function_start(writer.function()) : "";
    if (!writer.context().accumulators.empty())
        text += emit_accumulator_start(writer.context());
    for (const Firing* firing : firings) {
        if (writer.is_once_a_grid(*firing))
            continue;
        auto probe = writer.emit(*firing, {});
        if (!probe)
            return probe.errors();
        text += *probe;
    }
    if (writer.function().is_entry) {
        auto once = grid_text(writer, firings, true);
        if (!once)
            return once.errors();
        text += *once;
    }
    if (!firings.empty())
        writer.count_place();
    if (!text.empty())
        writer.editor().insert_at(start_offset(writer.function()), fmt::format("{}\t", inserted(text)));
    return ok();
}

}  // namespace egpu::inject
