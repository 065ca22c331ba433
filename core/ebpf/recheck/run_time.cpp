// SPDX-License-Identifier: Apache-2.0
// What a specialised program has at run time: registers and bytes of the stack that an instruction left out would have
// written are not there, and nothing that is executed may read them. Nothing that others see may be left out.
#include <fmt/format.h>

#include "ebpf/recheck/checker.hpp"
#include "ebpf/verifier/flow/flow.hpp"

namespace egpu::ebpf {
namespace {

bool is_atomic(const Instruction& i) {
    return class_of(i) == kClassStx && mode_of(i) == kModeAtomic;
}

/// Calls the visitor with each byte of a span as LeftOut counts them.
template <typename Visitor>
void for_each_byte(const Span& span, Visitor visit) {
    for (std::int64_t byte = span.first; byte < span.end; ++byte)
        visit(static_cast<std::size_t>(kStackBytes + byte));
}

}  // namespace

/// What the instruction accesses, as it stands in the program.
void Checker::find_uses(const State& state, const Helper* called) {
    const Instruction& i = instruction();
    uses_.clear();
    const auto add = [&](Use use) {
        const MemoryAccess& access = use.access;
        use.span = span_of(access);
        use.in_stack = access.pointer.kind == Kind::stack && access.pointer.frame < state.frames.size() &&
                       use.span.first >= -kStackBytes && use.span.first <= use.span.end && use.span.end <= 0;
        uses_.push_back(std::move(use));
    };
    const bool loads = class_of(i) == kClassLdx;
    if (loads || class_of(i) == kClassSt || class_of(i) == kClassStx) {
        Use use;
        use.access.pointer = state.get(loads ? i.source : i.destination);
        use.access.offset = i.offset;
        use.access.bytes = access_bytes(i);
        use.reads = loads || is_atomic(i);
        use.writes = !loads;
        add(std::move(use));
    }
    for (unsigned argument = 0; called != nullptr && argument < called->arguments.size(); ++argument) {
        Use use;
        use.access = argument_access(scene(state), *called, argument);
        use.reads = use.access.kind != AccessKind::write && reads_argument(*called, argument);
        use.writes = use.access.kind != AccessKind::read;
        if (use.access.bytes != 0 && (use.reads || use.writes))
            add(std::move(use));
    }
}

/// What was said of a register before the instruction.
specializer::Value Checker::claimed(unsigned index) const {
    const Instruction& i = instruction();
    const auto& arguments = facts().arguments;
    if (i.opcode == kCall)
        return index >= 1 && index <= arguments.size() ? arguments[index - 1] : specializer::Value();
    if (index == i.destination)
        return facts().destination_before;
    if (index == i.source)
        return facts().source_before;
    return index == 0 && !arguments.empty() ? arguments[0] : specializer::Value();
}

/// Code names the result and reads nothing for it.
bool Checker::is_named() const {
    const Instruction& i = instruction();
    const bool computes = is_alu(i) || class_of(i) == kClassLdx;
    if (computes)
        return facts().destination_after.is_known();
    const Helper* called = called_helper(i);
    const bool may_be_named =
        called != nullptr && (called->returns == ReturnKind::map_value_or_null || called->asks_lanes());
    return may_be_named && facts().destination_after.is_known();
}

/// Of the arguments of bpf_trace_printk, one that its text doesn't print.
bool Checker::is_spare(unsigned index) const {
    constexpr unsigned kFirst = 3;
    const Instruction& i = instruction();
    return i.opcode == kCall && static_cast<HelperId>(i.immediate) == HelperId::trace_printk && index >= kFirst &&
           index >= kFirst + numbers_printed(program_, at_);
}

/// Keys whose element is known aren't looked at, nor is anything where an update is known to fail.
bool Checker::reads_argument(const Helper& called, unsigned argument) const {
    if (is_named())
        return false;
    if (called.id != HelperId::map_update_elem)
        return true;
    if (facts().result && *facts().result != 0)
        return false;
    return called.arguments[argument] != ArgumentKind::map_key || !facts().memory;
}

/// Of an instruction that isn't executed: nobody else can tell.
Verdict Checker::check_effect(const Helper* called) const {
    for (const Use& use : uses_)
        if (use.writes && !use.in_stack)
            return broken("a write to a map was left out");
    if (called == nullptr)
        return std::nullopt;
    const bool fails = facts().result && *facts().result != 0;
    if (called->id == HelperId::map_update_elem && !fails)
        return broken("an update of a map was left out");
    if (called->id == HelperId::ringbuf_output || called->prints())
        return broken("a record that is sent was left out");
    if (called->id == HelperId::bpftime_barrier)
        return broken("a barrier was left out");
    if (called->id == HelperId::map_lookup_or_init && program_.searches(at_))
        return broken("a lookup that makes an entry was left out");
    return std::nullopt;
}

/// Of an instruction that is executed: what it reads was computed, or code names it.
Verdict Checker::check_present(const State& state) const {
    if (is_named())
        return std::nullopt;
    const RegisterUse used = use_of(instruction(), frames_before_ == 1);
    const auto& missing = state.frame().left_out.registers;
    for (unsigned index = 0; missing.any() && index < missing.size(); ++index)
        if ((used.reads >> index & 1) != 0 && missing[index] && !claimed(index).is_known() && !is_spare(index))
            return broken(fmt::format("r{} is read at run time, and what computes it was left out", index));
    for (const Use& use : uses_) {
        if (!use.reads || !use.in_stack)
            continue;
        const auto& bytes = state.frames[use.access.pointer.frame].left_out.stack;
        bool all = true;
        for_each_byte(use.span, [&](std::size_t byte) { all = all && !bytes[byte]; });
        if (!all)
            return broken(
                fmt::format("bytes {} to {} of the stack are read at run time, and a store to them was left out",
                            use.span.first, use.span.end - 1));
    }
    return std::nullopt;
}

/// Memory of the stack that is accessed at run time has a place: in a register, if always accessed whole.
Verdict Checker::check_slots() const {
    if (is_named())
        return std::nullopt;
    for (const Use& use : uses_) {
        if (!use.in_stack)
            continue;
        const StackSlot* found = nullptr;
        for (const StackSlot& slot : program_.stack)
            if (slot.depth == use.access.pointer.frame && slot.offset <= use.span.first &&
                use.span.end <= slot.offset + slot.bytes)
                found = &slot;
        const bool whole = found != nullptr && use.span.exact && use.span.first == found->offset &&
                           use.span.end == found->offset + found->bytes;
        if (found == nullptr || (!found->in_memory && !whole))
            return broken(fmt::format("bytes {} to {} of the stack are accessed, and have no place at run time",
                                      use.span.first, use.span.end - 1));
    }
    return std::nullopt;
}

/// A function that is called finds arguments as its caller has them, and leaves r0.
void Checker::mark_frames(State& state) const {
    if (state.frames.size() > frames_before_) {
        state.frame().left_out.registers = left_out_before_.registers & std::bitset<10>(0b111110);
        state.frame().left_out.stack.reset();
    } else if (state.frames.size() < frames_before_) {
        state.frame().left_out.registers[0] = left_out_before_.registers[0];
    }
}

/// What the step wrote is there at run time if it is executed; its result, if that is said to be needed.
void Checker::mark_written(State& state) const {
    const bool missing = !facts().needed, no_result = missing || !facts().result_needed;
    const RegisterUse used = use_of(instruction(), frames_before_ == 1);
    for (unsigned index = 0; index < 10; ++index)
        if ((used.writes >> index & 1) != 0)
            state.frame().left_out.registers[index] = no_result;
    for (const Use& use : uses_) {
        if (!use.writes || !use.in_stack || (!use.span.exact && !missing))
            continue;
        auto& bytes = state.frames[use.access.pointer.frame].left_out.stack;
        for_each_byte(use.span, [&](std::size_t byte) { bytes[byte] = missing; });
    }
}

}  // namespace egpu::ebpf
