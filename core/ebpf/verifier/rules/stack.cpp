// SPDX-License-Identifier: Apache-2.0
// Rules 1 and 7: the stack is 512 bytes, and no byte of it is read before it was written; it isn't zeroed.
// No pointer outlives the variable that it points to.
#include <fmt/format.h>

#include "ebpf/verifier/rules/rule.hpp"

namespace egpu::ebpf {

Verdict check_stack_bounds(const Scene& scene, const MemoryAccess& access) {
    const Span span = span_of(access);
    if (span.first >= -kStackBytes && span.end <= 0 && access.pointer.frame < scene.state.frames.size())
        return std::nullopt;
    Refusal refusal;
    refusal.code = "EGPU-V004";
    refusal.message = span.exact ? "this access is outside the stack" : "this access may be outside the stack";
    refusal.why =
        fmt::format("{}, counted from the frame's end; the frame is bytes -{} to -1", span_text(span), kStackBytes);
    refusal.fix = span.exact ? "use less memory on the stack, or check the pointer arithmetic"
                             : "bound the index first: if (i < N) ..., or mask it: i & (N - 1)";
    return refusal;
}

Verdict check_stack_read(const Scene& scene, const MemoryAccess& access) {
    const Span span = span_of(access);
    const Stack& stack = scene.state.frames[access.pointer.frame].stack;
    const auto first = static_cast<std::int32_t>(span.first);
    const auto bytes = static_cast<std::int32_t>(span.end - span.first);
    std::optional<StackFault> fault;
    if (span.exact) {
        StackFault found;
        if (!stack.read(first, bytes, found))
            fault = found;
    } else {
        fault = stack.first_fault(first, bytes);
    }
    if (!fault)
        return std::nullopt;
    if (fault->value.kind == Kind::partial_sum)
        return check_number(scene, fault->value, "read in pieces");
    Refusal refusal;
    if (fault->pointer) {
        refusal.code = "EGPU-V020";
        refusal.message = "part of a pointer is read as a number here";
        refusal.why = fmt::format("a pointer was saved at byte {} of the stack", fault->byte);
        refusal.fix = "use the pointer as a whole";
        return refusal;
    }
    refusal.code = "EGPU-V003";
    refusal.message = "memory on the stack is read here that was never set";
    refusal.why = fmt::format("byte {} of the {} bytes at fp{} has no value on this path{}", fault->byte - first + 1,
                              bytes, first, bytes > 1 ? "; padding between members counts" : "");
    refusal.fix = "initialise the whole variable where it is declared: = {}";
    return refusal;
}

Verdict check_stack_store(const Scene&, const MemoryAccess& access, const Value& stored) {
    if (stored.kind != Kind::stack || stored.frame <= access.pointer.frame)
        return std::nullopt;
    Refusal refusal;
    refusal.code = "EGPU-V020";
    refusal.message = "a pointer to this function's own variable is stored in a variable of its caller";
    refusal.why =
        "this function's stack is gone when it has returned: the caller would be left with a dangling pointer";
    refusal.fix = "let the caller pass a pointer to a variable of its own, and store the value there";
    return refusal;
}

}  // namespace egpu::ebpf
