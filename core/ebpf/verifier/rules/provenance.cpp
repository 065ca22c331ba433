// SPDX-License-Identifier: Apache-2.0
// Rules 2 and 3: only a pointer that egpu gave is dereferenced, and only after NULL was excluded. An address of the
// application is a number: a bad one would kill its CUDA context, and nothing can catch that.
#include <fmt/format.h>

#include "ebpf/verifier/rules/rule.hpp"
#include "ebpf/verifier/source/expression.hpp"

namespace egpu::ebpf {
namespace {

Refusal not_a_pointer(const Scene& scene, const MemoryAccess& access) {
    Refusal refusal;
    if (access.pointer.scalar.application_address) {
        refusal.code = "EGPU-V013";
        refusal.message = "an address of the application is dereferenced here";
        refusal.why =
            "a fault on a GPU can't be undone: it would end the application; programs see addresses as numbers only";
        const Event event = scene.program.point.event;
        const bool has_value = event == Event::store || waits_for_value(event);
        refusal.fix =
            has_value
                ? "egpu_value(ctx, &value, sizeof(value)) stores in value what the instruction itself moves"
                : "see values where they are moved: egpu_value(ctx, &value, sizeof(value)) stores one in value at "
                  "gpu/store, gpu/load_return and gpu/atomic_return";
        return refusal;
    }
    refusal.code = "EGPU-V005";
    refusal.message = fmt::format("a number is used as a pointer here ({})", access.register_name);
    refusal.why =
        "only pointers to the context, the stack, constants and map values can be dereferenced; this is a number";
    refusal.fix = "take the pointer from a map lookup or from '&' of a variable";
    return refusal;
}

Refusal may_be_null(const Scene& scene, const MemoryAccess& access) {
    Refusal refusal;
    refusal.code = "EGPU-V007";
    const std::string name = name_of(scene, access.pointer, &refusal.subject);
    refusal.message = fmt::format("{} may be NULL here", name);
    const Instruction& call = scene.program.instructions[access.pointer.made_at];
    const Helper* called = called_helper(call);
    const LineInfo* line = scene.program.line_of(access.pointer.made_at);
    const std::string since = line != nullptr && line->line != 0
                                  ? fmt::format("line {}", line->line)
                                  : fmt::format("instruction {}", access.pointer.made_at);
    const bool makes = called != nullptr && called->id == HelperId::map_lookup_or_init;
    refusal.why = fmt::format("{} gives NULL {}; no branch since {} excludes it", called ? called->name : "the lookup",
                              makes ? "when the map is full" : "for an absent key", since);
    refusal.fix = fmt::format("if (!{}) return 0;", refusal.subject.empty() ? "value" : refusal.subject);
    if (!makes)
        refusal.fix += "    (egpu_map_lookup_or_init needs it too: NULL when the map is full)";
    refusal.quote_also = access.pointer.made_at;
    return refusal;
}

}  // namespace

std::string name_of(const Scene& scene, const Value& map_value, std::string* variable) {
    std::string name;
    if (map_value.identity != 0)
        if (const LineInfo* line = scene.program.line_of(map_value.made_at))
            name = assigned_name(line->text, line->column);
    if (variable != nullptr)
        *variable = name;
    if (!name.empty())
        return fmt::format("'{}'", name);
    return fmt::format("the value of map '{}'", scene.map(map_value.map).name);
}

Verdict check_dereference(const Scene& scene, const MemoryAccess& access) {
    switch (access.pointer.kind) {
        case Kind::context:
        case Kind::stack:
        case Kind::map_value:
        case Kind::constants:
            return std::nullopt;
        case Kind::map_value_or_null:
            return may_be_null(scene, access);
        case Kind::partial_sum:
            return check_number(scene, access.pointer, "used as a pointer");
        case Kind::map_object: {
            Refusal refusal;
            refusal.code = "EGPU-V005";
            refusal.message =
                fmt::format("the map '{}' itself is dereferenced here", scene.map(access.pointer.map).name);
            refusal.why = "a map's inside belongs to egpu";
            refusal.fix = "get a pointer to a value with egpu_map_lookup_or_init or bpf_map_lookup_elem";
            return refusal;
        }
        case Kind::scalar:
        case Kind::uninitialised:
            return not_a_pointer(scene, access);
    }
    return not_a_pointer(scene, access);
}

}  // namespace egpu::ebpf
