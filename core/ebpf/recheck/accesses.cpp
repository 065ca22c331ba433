// SPDX-License-Identifier: Apache-2.0
// Elements are kept in registers on the word of SpecializedProgram::accumulators and ::accesses: each access to a map's
// value that is executed stands in one of them, and is what it says there.
#include <fmt/format.h>

#include "ebpf/recheck/checker.hpp"
#include "ebpf/recheck/claims.hpp"

namespace egpu::ebpf {
namespace {

bool is_plain_add(const Instruction& i) {
    return class_of(i) == kClassStx && mode_of(i) == kModeAtomic && i.immediate == kAdd && access_bytes(i) == 8;
}

/// The place that is said, as far as one is, is the one that is accessed.
bool same_place(const MapAccess& said, const Value& pointer, const Span& span, const SpecializedProgram& program) {
    if (said.map != kAnyMap && said.map != pointer.map)
        return false;
    if (said.byte && (!span.exact || span.first != std::int64_t{*said.byte}))
        return false;
    if (!said.slot)
        return true;
    const auto key = key_of(pointer);
    return key && program.keys[*key].slot == said.slot;
}

}  // namespace

Verdict Checker::check_listed() const {
    for (const Use& use : uses_) {
        const bool is_value = use.access.pointer.kind == Kind::map_value;
        if (!is_value || !(use.writes || instruction().opcode != kCall))
            continue;
        if (const AccumulatorUse* sum = sums_[at_])
            return check_sum(*sum, use);
        const MapAccess* said = accesses_[at_];
        if (said == nullptr)
            return broken("an access to a map's value is not listed");
        const bool adds = is_plain_add(instruction());
        if (!same_place(*said, use.access.pointer, use.span, program_) || said->bytes != use.access.bytes ||
            said->is_commuting_add != adds || (use.writes && !said->writes) || (use.reads && !adds && !said->reads))
            return broken("an access to a map's value is listed as another one");
    }
    return std::nullopt;
}

/// A sum that may be kept in a register.
Verdict Checker::check_sum(const AccumulatorUse& sum, const Use& use) const {
    if (!is_plain_add(instruction()) || !points_to(sum.element, use.access.pointer, use.access.offset, program_))
        return broken("a sum that may be kept in a register is of another element, or is no sum");
    const auto& added = facts().source_before;
    if (sum.constant && !added.is_constant(*sum.constant))
        return broken("what is added to a sum is not the number that was counted on");
    return std::nullopt;
}

Verdict Checker::check_update_listed(const State& state) const {
    if (facts().result && *facts().result != 0)
        return std::nullopt;
    const MapAccess* said = accesses_[at_];
    const std::uint32_t map = state.get(1).map;
    const auto slot = facts().memory ? std::optional(facts().memory->slot) : std::nullopt;
    const bool same = said != nullptr && said->map == map && (!said->slot || said->slot == slot) && said->byte == 0u &&
                      said->bytes == program_.object->maps[map].value_bytes && said->writes && !said->is_commuting_add;
    return same ? std::nullopt : Verdict(broken("an update of a map is not listed, or as another one"));
}

}  // namespace egpu::ebpf
