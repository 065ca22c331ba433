// SPDX-License-Identifier: Apache-2.0
// Rule 13: atomics on map values only, of 4 or 8 bytes; on per-SM maps additions only, since their copies are added
// up when read. An exchange is a store: what it stores must not be made from what was read before. A
// compare-and-exchange replaces only what it was told to expect, so nothing that others stored is lost by it.
#include <fmt/format.h>

#include "ebpf/verifier/rules/rule.hpp"

namespace egpu::ebpf {
namespace {

const char* name_of_operation(std::int32_t operation) {
    switch (operation & ~kFetch) {
        case kOr:
            return "or";
        case kAnd:
            return "and";
        case kXor:
            return "xor";
        case kExchange & ~kFetch:
            return "exchange";
        case kCompareExchange & ~kFetch:
            return "compare and exchange";
        default:
            return "add";
    }
}

}  // namespace

Verdict check_atomic(const Scene& scene, const MemoryAccess& access, const Value& operand) {
    Refusal refusal;
    refusal.code = "EGPU-V016";
    if (access.pointer.kind == Kind::stack) {
        refusal.message = "an atomic operation on the stack";
        refusal.why = "a thread's stack is its own: no other thread could see it";
        refusal.fix = "use a plain variable, or a map where the value is shared";
        return refusal;
    }
    if (access.pointer.kind != Kind::map_value)
        return std::nullopt;  // the rules of the memory it points to say the rest
    if (auto verdict = check_number(scene, operand, "used in an atomic operation"))
        return verdict;
    const MapDefinition& map = scene.map(access.pointer.map);
    const std::int32_t operation = scene.instruction().immediate;
    if (!map.per_sm())
        return operation == kExchange ? check_exchange(scene, access, operand) : std::nullopt;
    if (operation == kAdd || operation == (kAdd | kFetch))
        return std::nullopt;
    refusal.code = "EGPU-V015";
    refusal.message = fmt::format("an atomic \"{}\" on the per-SM map '{}'", name_of_operation(operation), map.name);
    refusal.why = "its copies, one for each SM, are added up when read: only additions give a right result";
    refusal.fix = "use BPF_MAP_TYPE_HASH or BPF_MAP_TYPE_ARRAY, which have one value for all SMs";
    return refusal;
}

}  // namespace egpu::ebpf
