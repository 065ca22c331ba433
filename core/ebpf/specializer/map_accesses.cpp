// SPDX-License-Identifier: Apache-2.0
#include "ebpf/specializer/map_accesses.hpp"

#include "ebpf/helpers/helpers.hpp"

namespace egpu::ebpf::specializer {
namespace {

using Kind = Value::Kind;

/// The place in a map that a pointer names, as far as it is known.
MapAccess access_through(const Value& pointer, std::int64_t offset, std::uint32_t bytes) {
    MapAccess access;
    access.map = pointer.map;
    access.bytes = bytes;
    if (pointer.slot_known)
        access.slot = pointer.slot;
    if (pointer.offset_known && pointer.offset + offset >= 0)
        access.byte = static_cast<std::uint32_t>(pointer.offset + offset);
    return access;
}

void collect_store(SpecializedProgram& program, std::uint32_t at) {
    const Instruction& i = program.instructions[at];
    const InstructionFacts& facts = program.facts[at];
    if (facts.destination_before.kind != Kind::map_value)
        return;
    const bool is_atomic = class_of(i) == kClassStx && mode_of(i) == kModeAtomic;
    const bool adds = is_atomic && i.immediate == kAdd && access_bytes(i) == 8;
    if (adds && facts.memory) {
        AccumulatorUse use;
        use.element = *facts.memory;
        if (facts.source_before.is_constant())
            use.constant = facts.source_before.constant;
        use.instruction = at;
        program.accumulators.push_back(use);
        return;
    }
    MapAccess access = access_through(facts.destination_before, i.offset, access_bytes(i));
    access.reads = is_atomic && !adds;
    access.writes = true;
    access.is_commuting_add = adds;
    access.instruction = at;
    program.accesses.push_back(access);
}

void collect_update(SpecializedProgram& program, std::uint32_t at) {
    const InstructionFacts& facts = program.facts[at];
    MapAccess access;
    access.map = facts.arguments[0].map;
    access.bytes = program.object->maps[access.map].value_bytes;
    access.byte = 0;
    if (facts.memory)
        access.slot = facts.memory->slot;
    access.writes = true;
    access.instruction = at;
    program.accesses.push_back(access);
}

/// egpu_min, egpu_max.
void collect_extreme(SpecializedProgram& program, std::uint32_t at) {
    const auto& arguments = program.facts[at].arguments;
    MapAccess access = access_through(arguments[0], 0, static_cast<std::uint32_t>(arguments[2].constant));
    access.reads = access.writes = true;
    access.instruction = at;
    program.accesses.push_back(access);
}

void collect_call(SpecializedProgram& program, std::uint32_t at) {
    const Helper* called = called_helper(program.instructions[at]);
    if (called == nullptr)
        return;
    if (called->id == HelperId::map_update_elem)
        collect_update(program, at);
    if (called->changes_word())
        collect_extreme(program, at);
    // Which lanes fire together is what such a helper reads, too.
    if (called->asks_lanes() && !program.facts[at].destination_after.is_known())
        program.fields_read.emplace("active_mask");
}

void collect_load(SpecializedProgram& program, std::uint32_t at) {
    const Instruction& i = program.instructions[at];
    const InstructionFacts& facts = program.facts[at];
    if (facts.field != nullptr)
        program.fields_read.emplace(facts.field->name);
    if (facts.source_before.kind != Kind::map_value)
        return;
    MapAccess access = access_through(facts.source_before, i.offset, access_bytes(i));
    access.reads = true;
    access.instruction = at;
    program.accesses.push_back(access);
}

}  // namespace

void collect_map_accesses(SpecializedProgram& program) {
    for (std::uint32_t at = 0; at < program.instructions.size(); ++at) {
        if (!program.facts[at].needed)
            continue;
        const Instruction& i = program.instructions[at];
        if (class_of(i) == kClassLdx)
            collect_load(program, at);
        else if (class_of(i) == kClassSt || class_of(i) == kClassStx)
            collect_store(program, at);
        else if (i.opcode == kCall)
            collect_call(program, at);
    }
}

}  // namespace egpu::ebpf::specializer

namespace egpu::ebpf {

bool stands_in_the_way(const MapAccess& access, const StaticElement& element) {
    if (access.is_commuting_add || (access.map != kAnyMap && access.map != element.map))
        return false;
    if (access.slot && *access.slot != element.slot)
        return false;
    if (!access.byte)
        return true;
    constexpr std::uint64_t kElementBytes = 8;
    const std::uint64_t begin = *access.byte;
    return begin < element.byte + kElementBytes && element.byte < begin + access.bytes;
}

}  // namespace egpu::ebpf
