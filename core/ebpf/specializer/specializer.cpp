// SPDX-License-Identifier: Apache-2.0
#include "ebpf/specializer/specializer.hpp"

#include <algorithm>

#include "ebpf/helpers/format.hpp"
#include "ebpf/helpers/helpers.hpp"
#include "ebpf/specializer/fixpoint.hpp"
#include "ebpf/specializer/graph.hpp"
#include "ebpf/specializer/liveness.hpp"
#include "ebpf/specializer/machine.hpp"
#include "ebpf/specializer/map_accesses.hpp"
#include "ebpf/specializer/problem.hpp"
#include "ebpf/specializer/stack_layout.hpp"

namespace egpu::ebpf {

using namespace specializer;

namespace {

/// Gives slots to static keys, in the order of the program, each key once.
class Slots {
public:
    Slots(Machine& machine, const SlotOfKey& slot_of_key) : machine_(machine), slot_of_key_(slot_of_key) {}

    /// False where a key got no slot: its lookup is NULL, so the program must be looked at again.
    bool give_out(const std::vector<InstructionFacts>& facts, const std::vector<Instruction>& instructions) {
        for (std::size_t at = 0; at < facts.size(); ++at) {
            const auto& fact = facts[at];
            if (fact.memory && fact.arguments.size() == 5 && !give(fact.memory->slot))
                return false;
            const bool is_source = fact.arguments.size() == 5 || instructions[at].opcode == kLoadImmediate64;
            if (is_source && fact.destination_after.is_static_element() && !give(fact.destination_after.slot))
                return false;
        }
        return true;
    }

    /// Key numbers become slots. A value that stands for a key without a slot belongs to code that is not reached.
    void translate(Value& value) const {
        if (value.kind != Value::Kind::map_value || !value.slot_known)
            return;
        const auto found = slots_.find(value.slot);
        value.slot = found == slots_.end() ? 0 : found->second;
    }
    void translate(StaticElement& element) const {
        if (const auto found = slots_.find(element.slot); found != slots_.end())
            element.slot = found->second;
    }

    const std::vector<StaticKey>& keys() const { return keys_; }
    std::uint32_t full_maps() const { return full_; }
    void count_full(bool is_array) { full_ += is_array ? 0 : 1; }

private:
    bool give(std::uint32_t key_number) {
        if (slots_.count(key_number) != 0)
            return true;
        const auto& [map, bytes] = machine_.keys().key(key_number);
        const auto slot = slot_of_key_(map, std::as_bytes(std::span(bytes)));
        keys_.push_back({map, bytes, slot});
        if (slot) {
            slots_.emplace(key_number, *slot);
            return true;
        }
        machine_.mark_absent(key_number);
        last_absent_map_ = map;
        return false;
    }

    Machine& machine_;
    const SlotOfKey& slot_of_key_;
    std::map<std::uint32_t, std::uint32_t> slots_;
    std::vector<StaticKey> keys_;
    std::uint32_t full_ = 0;

public:
    std::uint32_t last_absent_map_ = 0;
};

void finish_facts(SpecializedProgram& program, const Slots& slots) {
    for (auto& facts : program.facts) {
        for (Value* value : {&facts.destination_before, &facts.source_before, &facts.destination_after})
            slots.translate(*value);
        for (auto& argument : facts.arguments)
            slots.translate(argument);
        if (facts.memory)
            slots.translate(*facts.memory);
        if (facts.destination_after.is_constant())
            facts.result = facts.destination_after.constant;
        const Value& after = facts.destination_after;
        if (after.is_static_element() && after.offset >= 0)
            facts.pointer_result = StaticElement{after.map, after.slot, static_cast<std::uint32_t>(after.offset)};
    }
}

}  // namespace

std::size_t numbers_printed(const SpecializedProgram& program, std::uint32_t at) {
    const auto& arguments = program.facts[at].arguments;
    if (arguments[0].kind != specializer::Value::Kind::constant_data)
        return 0;
    constexpr std::size_t kMost = 3;
    const auto place = static_cast<std::uint64_t>(arguments[0].offset);
    return std::min(read_format(text_at(*program.object, place, arguments[1].constant)).numbers, kMost);
}

bool SpecializedProgram::searches(std::uint32_t at) const {
    const Helper* called = called_helper(instructions[at]);
    if (called == nullptr || called->arguments[1] != ArgumentKind::map_key || facts[at].arguments.empty())
        return false;
    const Value& map = facts[at].arguments.front();
    return map.kind == Value::Kind::map_object && object->maps[map.map].keys_at_run_time;
}

std::optional<std::uint32_t> SpecializedProgram::needed_from(std::uint32_t at) const {
    if (at >= onward.size() || onward[at] == kEnd)
        return std::nullopt;
    return onward[at];
}

std::optional<std::uint32_t> SpecializedProgram::next_needed(std::uint32_t at) const {
    return needed_from(at + (instructions[at].opcode == kLoadImmediate64 ? 2 : 1));
}

std::optional<std::uint32_t> SpecializedProgram::taken_needed(std::uint32_t at) const {
    return needed_from(static_cast<std::uint32_t>(std::int64_t{at} + 1 + jump_distance(instructions[at])));
}

Result<SpecializedProgram> specialize(const Object& object, const Program& program, const SiteConstants& constants,
                                      const SlotOfKey& slot_of_key) {
    if (auto encoded = check_encoding(program.instructions); !encoded)
        return encoded.errors();
    auto code = expand_calls(program);
    if (!code)
        return code.errors();
    Machine machine(object, program, *code, constants);
    Slots slots(machine, slot_of_key);
    SpecializedProgram result;
    for (;;) {
        auto facts = run_to_fixpoint(machine, *code, program);
        if (!facts)
            return facts.errors();
        result.facts = *std::move(facts);
        if (slots.give_out(result.facts, code->instructions))
            break;
        slots.count_full(object.maps[slots.last_absent_map_].is_array());
    }
    result.object = &object;
    result.program = &program;
    result.instructions = code->instructions;
    result.origins = code->origin;
    result.depths = code->depth;
    result.keys = slots.keys();
    finish_facts(result, slots);
    if (!mark_needed(result))
        return problem_at(program, 0, "EGPU-V053", "too complex to specialise", "what it needs did not settle",
                          "split the program, or use fewer variables in its loops");
    lay_out_stack(result);
    collect_map_accesses(result);
    result.empty = !result.first_needed();
    result.full_maps = slots.full_maps();
    return result;
}

}  // namespace egpu::ebpf
