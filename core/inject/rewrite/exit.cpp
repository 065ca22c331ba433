// SPDX-License-Identifier: Apache-2.0
// Programs at kernel_exit, and the flush of the accumulators, run for the threads that leave and for no others.
//
//   before:  @%p1 ret;                after:  @!%p1 bra $egpu_4;
//                                             <programs> <flush>
//                                             ret;
//                                             $egpu_4:
//
//   before:  ret;                     after:  <programs> <flush>
//                                             ret;
// Control that reaches the closing brace of an entry leaves it too (PTX ISA 9.7.12): the text stands before the brace.
#include <fmt/format.h>

#include "inject/match/flow.hpp"
#include "inject/match/ways_out.hpp"
#include "inject/rewrite/writer.hpp"

namespace egpu::inject {
namespace {

/// Programs first, since what they add to an accumulator is flushed with it.
Result<std::string> leaving_text(FunctionWriter& writer, const Firings& firings) {
    std::string text;
    for (const Firing* firing : firings) {
        if (writer.is_once_a_grid(*firing))
            continue;
        auto probe = writer.emit(*firing, {});
        if (!probe)
            return probe;
        text += *probe;
    }
    auto once = grid_text(writer, firings, false);
    if (!once)
        return once;
    text += *once;
    if (!writer.context().accumulators.empty())
        text += emit_accumulator_flush(writer.context(), false);
    return text;
}

ptx::Range guard_range(const ptx::Module& module, const ptx::Instruction& instruction) {
    const auto opcode = static_cast<std::uint32_t>(instruction.opcode.data() - module.text->data());
    return {instruction.range.begin, opcode};
}

}  // namespace

Status rewrite_exit(FunctionWriter& writer, const ptx::Instruction& instruction, const Firings& firings) {
    auto text = leaving_text(writer, firings);
    if (!text)
        return text.errors();
    if (text->empty())
        return ok();
    if (!instruction.guard) {
        writer.editor().insert_before(instruction.range, fmt::format("{}\t", inserted(*text)));
        return ok();
    }
    const std::string label = writer.new_label();
    const bool negated = instruction.guard->negated;
    writer.editor().insert_before(instruction.range, fmt::format("@{}{} bra {};\n{}\t", negated ? "" : "!",
                                                                 instruction.guard->predicate, label, *text));
    writer.editor().erase(guard_range(writer.outline().module(), instruction));
    writer.editor().insert_after(instruction.range, fmt::format("\n{}:", label));
    writer.count(1);
    return ok();
}

Status rewrite_end(FunctionWriter& writer, const Firings& firings) {
    if (!writer.function().is_entry || !may_fall_off_the_end(writer.outline()))
        return ok();
    auto text = leaving_text(writer, firings);
    if (!text)
        return text.errors();
    if (!text->empty())
        writer.editor().insert_before(writer.function().body->close, *text);
    return ok();
}

}  // namespace egpu::inject
