// SPDX-License-Identifier: Apache-2.0
// The frame of a firing: who runs it, and in which form.
//
//   bandwidth at a predicated load, its sums in registers:
//   before:   @%p1 ld.global.f32 %f1, [%rd4];
//   after:    { selp.b32 %egpu_w0, 4, 0, %p1; cvt.u64.u32 %egpu_d0, %egpu_w0; add.s64 %egpu_acc0, %egpu_acc0, %egpu_d0;
//   }
//             { selp.b32 %egpu_w0, 1, 0, %p1; cvt.u64.u32 %egpu_d0, %egpu_w0; add.s64 %egpu_acc1, %egpu_acc1, %egpu_d0;
//             }
//             @%p1 ld.global.f32 %f1, [%rd4];
//   a program with branches:
//   after:    {
//             .reg .pred %egpu_p<1>; ...
//             @!%p1 bra $egpu_0;
//             ...
//   $egpu_0:
//             }
//             @%p1 ld.global.f32 %f1, [%rd4];
// Straight programs are predicated, not branched around: the kernel's convergence stays as it was.
#include "inject/codegen/codegen.hpp"

#include "ebpf/specializer/specializer.hpp"
#include "inject/codegen/emitter.hpp"

namespace egpu::inject {

using namespace ebpf;

namespace {

/// Longest straight program that lanes which don't fire pass through rather than jump over.
constexpr std::uint32_t kLongestPredicated = 32;

}  // namespace

void Emitter::refuse(std::uint32_t at, std::string_view code, std::string message, std::string fix) {
    Diagnostic diagnostic = error(code, std::move(message));
    diagnostic.fix = std::move(fix);
    const std::uint32_t origin = program_.origins[at];
    if (const LineInfo* line = program_.program->line_of(origin); line != nullptr) {
        diagnostic.where = {line->file, line->line, line->column, 0};
        diagnostic.quoted.push_back({line->line, line->text, line->column, 0});
    }
    diagnostic.detail = fmt::format("at insn {} of {}", origin, program_.program->name);
    problems_.push_back(std::move(diagnostic));
}

void Emitter::refuse(std::string_view code, std::string message, std::string fix) {
    Diagnostic diagnostic = error(code, std::move(message));
    diagnostic.fix = std::move(fix);
    diagnostic.detail = fmt::format("program {}", program_.program->name);
    problems_.push_back(std::move(diagnostic));
}

void Emitter::require_version(std::uint32_t major, std::uint32_t minor) {
    function_.require_version(major, minor);
}

void Emitter::check_site() {
    if (function_.target.sm < 60)
        refuse("EGPU-P220",
               fmt::format("the kernel is for sm_{}, the oldest that egpu instruments is sm_60", function_.target.sm),
               "build the application for sm_60 or newer");
    if (site_.granularity == Granularity::block)
        refuse("EGPU-P228", "once a block is not available yet",
               "use gpu.warp/ and keep the warp with ctx->warp == 0 and the lane that leads");
}

/// True for a program without jumps and loops, short enough to be predicated.
bool Emitter::is_straight() const {
    std::uint32_t length = 0;
    for (auto at = program_.first_needed(); at; at = program_.next_needed(*at))
        if (is_conditional_jump(program_.instructions[*at]) || program_.searches(*at) || ++length > kLongestPredicated)
            return false;
    return true;
}

void Emitter::body() {
    std::string fires = leader_;
    bool negated = false;
    if (site_.granularity != Granularity::warp) {  // of a grid, the guard is the one thread
        fires = site_.guard;
        negated = site_.guard_negated;
    }
    if (fires.empty()) {
        // Every lane that is here fires.
    } else if (is_straight()) {
        predicate_ = fmt::format("@{}{} ", negated ? "!" : "", fires);
    } else {
        before_.add(fmt::format("@{}{} bra {}", negated ? "" : "!", fires, label_of(std::nullopt)));
    }
    blocks();
}

std::string Emitter::enclosed() const {
    std::string declarations = registers_.declarations();
    if (!local_array_.empty())
        declarations += fmt::format("\t.local .align 8 .b8 {}[{}];\n", local_array_, program_.stack_bytes);
    std::string text = before_.text() + addresses_.statements().text() + body_.text();
    if (declarations.empty() && end_label_.empty())
        return text;
    if (!end_label_.empty())
        text += end_label_ + ":\n";
    return "\t{\n" + declarations + text + "\t}\n";
}

Result<EmittedProbe> Emitter::run() {
    check_site();
    if (!problems_.empty())
        return problems_;
    if (program_.empty)
        return EmittedProbe{};
    gather();
    before_ = std::move(body_);
    body_ = Statements();
    body();
    if (!problems_.empty())
        return problems_;
    EmittedProbe probe;
    probe.text = enclosed();
    probe.instructions = before_.instructions() + addresses_.statements().instructions() + body_.instructions();
    return probe;
}

Result<EmittedProbe> emit_probe(const SpecializedProgram& program, const SiteBinding& site, std::uint32_t map_base,
                                FunctionContext& function) {
    return Emitter(program, site, map_base, function).run();
}

}  // namespace egpu::inject
