// SPDX-License-Identifier: Apache-2.0
#include "ebpf/specializer/problem.hpp"

#include <fmt/format.h>

namespace egpu::ebpf::specializer {

Diagnostic problem_at(const Program& program, std::uint32_t instruction, std::string_view code, std::string message,
                      std::string why, std::string fix) {
    Diagnostic diagnostic = error(code, std::move(message));
    diagnostic.why = std::move(why);
    diagnostic.fix = std::move(fix);
    if (const LineInfo* line = program.line_of(instruction); line != nullptr) {
        diagnostic.where = {line->file, line->line, line->column, 0};
        diagnostic.quoted.push_back({line->line, line->text, line->column, 0});
    }
    if (instruction < program.instructions.size()) {
        const auto& code_at = program.instructions[instruction];
        const Instruction* next =
            instruction + 1 < program.instructions.size() ? &program.instructions[instruction + 1] : nullptr;
        diagnostic.detail = fmt::format("at insn {}: {}  ({})", instruction, to_text(code_at, next), program.name);
    }
    return diagnostic;
}

}  // namespace egpu::ebpf::specializer
