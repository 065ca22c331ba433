// SPDX-License-Identifier: Apache-2.0
#include "ebpf/verifier/refuse.hpp"

#include <fmt/format.h>

#include "ebpf/verifier/source/expression.hpp"
#include "ebpf/verifier/walk_log.hpp"

namespace egpu::ebpf {
namespace {

QuotedLine quoted(const LineInfo& line) {
    return {line.line, line.text, 0, 0};
}

/// The expression of the message, and its column instead of clang's, which is often that of the statement.
void underline(Diagnostic& diagnostic, const LineInfo& line, const std::string& subject) {
    // Of a call, the argument that is meant; else what clang points at.
    auto extent = is_call_at(line.text, line.column) ? expression_with(line.text, subject, line.column) : std::nullopt;
    if (!extent)
        extent = expression_at(line.text, line.column);
    if (!extent)
        return;
    diagnostic.where.column = extent->column;
    diagnostic.where.length = extent->length;
    diagnostic.quoted.back().underline_column = extent->column;
    diagnostic.quoted.back().underline_length = extent->length;
}

}  // namespace

Diagnostic to_diagnostic(const Refusal& refusal, const Scene& scene) {
    Diagnostic diagnostic = error(refusal.code, refusal.message);
    diagnostic.why = refusal.why;
    diagnostic.fix = refusal.fix;
    const std::uint32_t at = refusal.at.value_or(scene.at);
    const LineInfo* line = scene.program.line_of(at);
    diagnostic.where.file = scene.object.path;
    if (line != nullptr && line->line != 0) {
        diagnostic.where = {line->file, line->line, line->column, 0};
        const LineInfo* first = refusal.quote_also ? scene.program.line_of(*refusal.quote_also) : nullptr;
        if (first != nullptr && first->line != line->line)
            diagnostic.quoted.push_back(quoted(*first));
        if (!line->text.empty()) {
            diagnostic.quoted.push_back(quoted(*line));
            underline(diagnostic, *line, refusal.subject);
        }
    }
    const std::string registers = registers_text(scene.state, scene.object, scene.context);
    diagnostic.detail =
        fmt::format("at insn {}: {}{}(-v: the whole walk)", scene.at, registers, registers.empty() ? "" : "      ");
    return diagnostic;
}

}  // namespace egpu::ebpf
