// SPDX-License-Identifier: Apache-2.0
#include "ebpf/recheck/parts.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "ebpf/verifier/flow/flow.hpp"

namespace egpu::ebpf {
namespace {

constexpr std::uint32_t kNoMore = SpecializedProgram::kEnd;

/// First needed instruction from `at` on; past the last one a program ends.
std::uint32_t onward_from(const SpecializedProgram& program, std::uint32_t at) {
    return at < program.onward.size() ? program.onward[at] : kNoMore;
}

bool leads_onward(const SpecializedProgram& program, std::uint32_t at) {
    const Instruction& i = program.instructions[at];
    const InstructionFacts& facts = program.facts[at];
    const std::uint32_t onward = program.onward[at];
    if (facts.needed)
        return onward == at;
    if (i.opcode == kExit)
        return onward == kNoMore;
    const bool jumps = is_conditional_jump(i) && facts.branch != false;
    const bool passes = !is_goto(i) && !(is_conditional_jump(i) && facts.branch == true);
    const std::uint32_t next = at + (i.opcode == kLoadImmediate64 ? 2 : 1);
    return (!(jumps || is_goto(i)) || onward_from(program, target_of(i, at)) == onward) &&
           (!passes || onward_from(program, next) == onward);
}

bool overlap(std::int64_t first, std::int64_t bytes, std::int64_t other, std::int64_t other_bytes) {
    return first < other + other_bytes && other < first + bytes;
}

bool fits(const SpecializedProgram& program, const StackSlot& slot) {
    if (slot.bytes == 0 || slot.offset < -specializer::kFrameBytes || slot.offset + slot.bytes > 0)
        return false;
    if (!slot.in_memory)
        return slot.bytes == 1 || slot.bytes == 2 || slot.bytes == 4 || slot.bytes == 8;
    return (slot.offset - std::int64_t{slot.position}) % 8 == 0 && slot.position + slot.bytes <= program.stack_bytes;
}

bool in_the_way(const StackSlot& one, const StackSlot& other) {
    const bool in_frame = one.depth == other.depth && overlap(one.offset, one.bytes, other.offset, other.bytes);
    return in_frame ||
           (one.in_memory && other.in_memory && overlap(one.position, one.bytes, other.position, other.bytes));
}

}  // namespace

std::optional<Misfit> misfit_in_order(const SpecializedProgram& program) {
    const std::size_t size = program.instructions.size();
    if (size == 0 || program.facts.size() != size || program.origins.size() != size || program.depths.size() != size ||
        program.onward.size() != size)
        return Misfit{0, "its lists don't have one entry for each instruction"};
    for (std::uint32_t at = 0; at < size; ++at)
        if (program.facts[at].reachable && !leads_onward(program, at))
            return Misfit{at, "what is executed next isn't what the program does next"};
    if (program.empty != (program.onward[0] == kNoMore))
        return Misfit{0, program.empty ? "it is called empty, and isn't" : "it is empty, and isn't called so"};
    return std::nullopt;
}

std::optional<Misfit> misfit_in_stack(const SpecializedProgram& program) {
    for (auto slot = program.stack.begin(); slot != program.stack.end(); ++slot) {
        const bool good =
            fits(program, *slot) &&
            std::none_of(program.stack.begin(), slot, [&](const StackSlot& other) { return in_the_way(*slot, other); });
        if (!good)
            return Misfit{0, fmt::format("the place given to bytes {} to {} of the stack is another's, or too small",
                                         slot->offset, slot->offset + slot->bytes - 1)};
    }
    return std::nullopt;
}

Program with_calls(const SpecializedProgram& program) {
    Program walked;
    walked.name = program.program->name;
    walked.section = program.program->section;
    walked.point = program.program->point;
    walked.has_context = program.program->has_context;
    walked.instructions = program.instructions;
    for (std::size_t at = 0; at < walked.instructions.size(); ++at) {
        const Instruction& original = program.program->instructions[program.origins[at]];
        Instruction& i = walked.instructions[at];
        if (original.opcode == kExit)
            i = original;
        else if (is_local_call(original) && is_goto(i)) {
            const std::int32_t distance = i.immediate;  // to the copy of the function
            i = original;
            i.immediate = distance;
        }
    }
    return walked;
}

}  // namespace egpu::ebpf
