// SPDX-License-Identifier: Apache-2.0
// The rules of memory in the order in which a message helps most: is it a pointer, does it stay inside, is it aligned,
// was it set.
#include "ebpf/verifier/rules/rule.hpp"

namespace egpu::ebpf {
namespace {

Verdict check_bounds(const Scene& scene, const MemoryAccess& access) {
    switch (access.pointer.kind) {
        case Kind::stack:
            return check_stack_bounds(scene, access);
        case Kind::map_value:
            return check_map_value(scene, access);
        case Kind::constants:
            return check_constants(scene, access);
        default:
            return check_context(scene, access);
    }
}

bool reads_stack(const MemoryAccess& access) {
    return access.pointer.kind == Kind::stack && access.kind == AccessKind::read;
}

}  // namespace

Verdict check_access(const Scene& scene, const MemoryAccess& access) {
    if (auto refusal = check_dereference(scene, access))
        return refusal;
    if (auto refusal = check_bounds(scene, access))
        return refusal;
    if (auto refusal = check_alignment(scene, access))
        return refusal;
    return reads_stack(access) ? check_stack_read(scene, access) : std::nullopt;
}

/// A helper copies `bytes` as words where their number allows it: so much must the memory be aligned.
static std::uint32_t copy_alignment(std::uint32_t bytes) {
    return bytes % 4 == 0 ? 4 : bytes % 2 == 0 ? 2 : 1;
}

Verdict check_argument_access(const Scene& scene, const MemoryAccess& access) {
    if (auto refusal = check_dereference(scene, access))
        return refusal;
    if (auto refusal = check_bounds(scene, access))
        return refusal;
    MemoryAccess word = access;
    word.bytes = copy_alignment(access.bytes);
    if (auto refusal = check_alignment(scene, word))
        return refusal;
    if (!reads_stack(access))
        return std::nullopt;
    const Span span = span_of(access);
    const auto fault = scene.state.frames[access.pointer.frame].stack.first_fault(
        static_cast<std::int32_t>(span.first), static_cast<std::int32_t>(span.end - span.first));
    if (!fault || !fault->pointer)
        return check_stack_read(scene, access);
    if (fault->value.kind == Kind::partial_sum)
        return check_number(scene, fault->value, "part of a key or value passed to a helper");
    Refusal refusal;
    refusal.code = "EGPU-V020";
    refusal.message = "a pointer is part of a key or value passed to a helper here";
    refusal.why = "addresses differ from run to run and mean nothing outside the program";
    refusal.fix = "use what it points to";
    return refusal;
}

}  // namespace egpu::ebpf
