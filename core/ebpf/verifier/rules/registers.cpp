// SPDX-License-Identifier: Apache-2.0
// Rule 1: no register is read before it was written. A GPU thread starts with what another left in its registers.
#include <algorithm>

#include <fmt/format.h>

#include "ebpf/verifier/rules/rule.hpp"

namespace egpu::ebpf {

/// An instruction before this one may have set the register, or a call spoilt it.
static bool called_or_written_before(const Scene& scene, unsigned index) {
    const auto& instructions = scene.program.instructions;
    return std::any_of(instructions.begin(), instructions.begin() + scene.at, [&](const Instruction& i) {
        const bool writes = is_alu(i) || class_of(i) == kClassLdx || class_of(i) == kClassLd;
        return i.opcode == kCall || (writes && i.destination == index);
    });
}

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
    const bool argument = index >= 2 && index <= 5 && scene.state.frames.size() == 1;
    if (argument && !called_or_written_before(scene, index)) {
        refusal.why = "on this path nothing was stored in it, and a program has one argument, the context";
        refusal.fix = "give the variable a value where it is declared; what the event tells is in the context";
    }
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
