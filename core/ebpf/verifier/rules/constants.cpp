// SPDX-License-Identifier: Apache-2.0
// Read-only global data (`const`, EGPU_OPTION): loads inside it only.
#include <fmt/format.h>

#include "ebpf/verifier/rules/rule.hpp"

namespace egpu::ebpf {

Verdict check_constants(const Scene& scene, const MemoryAccess& access) {
    Refusal refusal;
    if (access.kind != AccessKind::read) {
        refusal.code = "EGPU-V021";
        refusal.message = "a constant is written here";
        refusal.why = "const data and options are folded into the code where the program is injected";
        refusal.fix = "keep what changes in a map";
        return refusal;
    }
    const Span span = span_of(access);
    if (span.first >= 0 && span.end <= static_cast<std::int64_t>(scene.object.constants.size()))
        return std::nullopt;
    refusal.code = "EGPU-V006";
    refusal.message = span.exact ? "this access is outside the constants" : "this access may be outside the constants";
    refusal.why = fmt::format("{}; there are {}", span_text(span), scene.object.constants.size());
    refusal.fix = span.exact ? "check the index against the table's size" : bound_advice(span);
    return refusal;
}

}  // namespace egpu::ebpf
