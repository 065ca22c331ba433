// SPDX-License-Identifier: Apache-2.0
#include "ebpf/recheck/checker.hpp"

#include <fmt/format.h>

#include "ebpf/isa/semantics.hpp"
#include "ebpf/recheck/claims.hpp"
#include "ebpf/recheck/known_results.hpp"
#include "ebpf/verifier/flow/flow.hpp"

namespace egpu::ebpf {

Refusal broken(std::string message) {
    Refusal refusal;
    refusal.code = "EGPU-V059";
    refusal.message = std::move(message);
    return refusal;
}

Checker::Checker(const SpecializedProgram& program, const Program& walked, const SiteConstants& constants)
    : program_(program),
      walked_(walked),
      constants_(constants),
      context_(context_of(walked.point.event)),
      sums_(program.instructions.size()),
      accesses_(program.instructions.size()) {
    for (const AccumulatorUse& sum : program.accumulators)
        if (sum.instruction < sums_.size())
            sums_[sum.instruction] = &sum;
    for (const MapAccess& access : program.accesses)
        if (access.instruction < accesses_.size())
            accesses_[access.instruction] = &access;
}

std::optional<std::uint64_t> Checker::constant_field(const ContextField& field) const {
    const auto known = constants_.fields.find(field.name);
    if (known == constants_.fields.end())
        return std::nullopt;
    return truncated(known->second, field.bytes);
}

namespace {

/// The helper that is called, where its arguments are such that what they point to can be told.
const Helper* told_helper(const Scene& scene) {
    const Instruction& i = scene.instruction();
    if (i.opcode != kCall || is_local_call(i))
        return nullptr;
    const Helper* called = nullptr;
    return check_helper(scene, called) ? nullptr : called;
}

}  // namespace

Verdict Checker::before_step(const State& state) {
    at_ = state.at;
    left_out_before_ = state.frame().left_out;
    frames_before_ = state.frames.size();
    if (!facts().reachable)
        return broken("an instruction that was left out as unreachable is reached");
    if (program_.depths[at_] + std::size_t{1} != state.frames.size())
        return broken("an instruction belongs to another frame than it runs in");
    if (auto refusal = check_operands(state))
        return refusal;
    const Helper* called = told_helper(scene(state));
    result_ = called == nullptr ? std::nullopt : known_result(scene(state), *called, program_);
    find_uses(state, called);
    if (auto refusal = check_memory(state))
        return refusal;
    if (!facts().needed)
        return check_effect(called);
    if (auto refusal = check_present(state))
        return refusal;
    if (auto refusal = check_slots())
        return refusal;
    if (called != nullptr && called->id == HelperId::map_update_elem)
        return check_update_listed(state);
    return check_listed();
}

/// What is claimed of a register holds; most often nothing is.
bool Checker::agrees(const specializer::Value& claimed, const State& state, unsigned index) const {
    if (claimed.kind == specializer::Value::Kind::unknown)
        return true;
    const auto& registers = state.frame().registers;
    return index < registers.size() ? holds(claimed, registers[index], program_)
                                    : holds(claimed, state.get(index), program_);
}

Verdict Checker::check_operands(const State& state) const {
    const Instruction& i = instruction();
    Verdict differs;
    const auto compare = [&](const specializer::Value& claimed, unsigned index) {
        if (!differs && !agrees(claimed, state, index))
            differs = broken(fmt::format("r{} is not what was counted on before an instruction", index));
    };
    compare(facts().destination_before, i.destination);
    if (is_conditional_jump(i) && !uses_register(i)) {
        if (!facts().source_before.is_constant(static_cast<std::uint64_t>(std::int64_t{i.immediate})))
            return broken("a jump compares with another number than the program's");
    } else if (!is_local_call(i) && i.opcode != kExit) {
        compare(facts().source_before, i.source);
    }
    const unsigned first = i.opcode == kCall ? 1 : 0;
    for (unsigned index = 0; index < facts().arguments.size(); ++index)
        compare(facts().arguments[index], first + index);
    return differs;
}

/// The element that an access is said to be to.
Verdict Checker::check_memory(const State& state) const {
    const Instruction& i = instruction();
    const auto& memory = facts().memory;
    if (i.opcode == kCall) {
        const auto key = memory ? named_key(scene(state), program_) : std::nullopt;
        if (memory && (!key || program_.keys[*key].map != memory->map || program_.keys[*key].slot != memory->slot ||
                       memory->byte != 0))
            return broken("an update goes to another element than was counted on");
        return std::nullopt;
    }
    const bool loads = class_of(i) == kClassLdx;
    if (!loads && class_of(i) != kClassSt && class_of(i) != kClassStx)
        return memory ? Verdict(broken("an instruction that accesses no memory is said to")) : std::nullopt;
    const Value pointer = state.get(loads ? i.source : i.destination);
    if (memory && !points_to(*memory, pointer, i.offset, program_))
        return broken("an access goes to another element of a map, or to another byte of it, than was counted on");
    if (memory && std::uint64_t{memory->byte} + access_bytes(i) > program_.object->maps[memory->map].value_bytes)
        return broken("an access goes beyond a map's value");
    if (!loads || uses_.empty())
        return std::nullopt;
    return check_field(uses_.front().access);
}

/// A field of the context that code reads at run time is the one that the program names.
Verdict Checker::check_field(const MemoryAccess& access) const {
    const ContextField* field = facts().field;
    const Span span = span_of(access);
    if (access.pointer.kind != Kind::context)
        return field == nullptr ? std::nullopt : Verdict(broken("a load that reads no context is said to"));
    if (facts().needed && !facts().destination_after.is_constant() && field == nullptr)
        return broken("a load of a context field is not said to be one");
    if (field == nullptr)
        return std::nullopt;
    if (!span.exact || span.first != std::int64_t{field->offset} + facts().field_byte ||
        facts().field_byte + access.bytes > field->bytes)
        return broken("another field of the context is read than was counted on");
    if (facts().needed && !program_.fields_read.contains(std::string(field->name)))
        return broken(fmt::format("'{}' is read, and is not among the fields that are supplied", field->name));
    return std::nullopt;
}

Verdict Checker::branches(bool can_take, bool can_pass) {
    if (facts().branch == true && can_pass)
        return broken("a branch that is always taken here may not be taken");
    if (facts().branch == false && can_take)
        return broken("a branch that is never taken here may be taken");
    return std::nullopt;
}

Verdict Checker::after_step(State& state) {
    const Instruction& i = instruction();
    mark_frames(state);
    if (is_jump_class(i) && (i.opcode != kCall || is_local_call(i)))
        return std::nullopt;
    mark_written(state);
    return check_result(state);
}

/// The destination of the step, or r0 of a call, after what this site knows of it was added.
Verdict Checker::check_result(State& state) const {
    const Instruction& i = instruction();
    const unsigned index = i.opcode == kCall ? 0 : i.destination;
    if (result_)
        state.set(0, *result_);
    if (i.opcode == kLoadImmediate64 && i.source == kPseudoMapValue) {
        Value& address = state.frame().registers[index];
        for (std::uint32_t key = 0; key < program_.keys.size() && address.kind == Kind::map_value; ++key)
            if (program_.keys[key].map == address.map &&
                program_.keys[key].bytes == std::vector<std::uint8_t>(program_.keys[key].bytes.size()))
                address.identity = identity_of_key(key);
    }
    if (!agrees(facts().destination_after, state, index))
        return broken(fmt::format("r{} is not what was counted on after an instruction", index));
    if (!facts().result && !facts().pointer_result)
        return std::nullopt;
    const Value seen = state.get(index);
    if (facts().result && !(seen.is_constant() && seen.scalar.value() == *facts().result))
        return broken(fmt::format("a result that was taken for {} may be another", *facts().result));
    if (facts().pointer_result && !points_to(*facts().pointer_result, seen, 0, program_))
        return broken("an address that was taken for known may be another");
    return std::nullopt;
}

}  // namespace egpu::ebpf
