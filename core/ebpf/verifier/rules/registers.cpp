// SPDX-License-Identifier: Apache-2.0
// Rule 1: no register is read before it was written. A GPU thread starts with what another left in its registers.
#include <fmt/format.h>

#include "ebpf/verifier/rules/rule.hpp"

namespace egpu::ebpf {

Verdict check_readable(const Scene& scene, unsigned index) {
    if (scene.state.get(index).kind != Kind::uninitialised)
        return std::nullopt;
    Refusal refusal;
    refusal.code = "EGPU-V002";
    refusal.message = fmt::format("a value is used here that was never set (r{})", index);
    refusal.why = index >= 1 && index <= 5
                      ? "on this path nothing was stored in it, or a call since then has overwritten it"
                      : "on this path nothing was stored in it";
    refusal.fix = "give the variable a value where it is declared";
    return refusal;
}

Verdict check_writable(unsigned index) {
    if (index != kFramePointer)
        return std::nullopt;
    Refusal refusal;
    refusal.code = "EGPU-V005";
    refusal.message = "the frame pointer r10 is written here";
    refusal.why = "r10 is read-only (RFC 9669 section 2)";
    refusal.fix = "compile the program with clang -target bpf";
    return refusal;
}

}  // namespace egpu::ebpf
