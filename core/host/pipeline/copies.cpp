// SPDX-License-Identifier: Apache-2.0
#include "host/pipeline/copies.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/units.hpp"
#include "ptx/syntax/parser.hpp"

namespace egpu::host {
namespace {

/// Local memory that the driver gives every context (cuCtxGetLimit(CU_LIMIT_STACK_SIZE)): up to it a launch does not
/// wait for more. What the context really has, the agent compares when it loads the copy.
constexpr std::uint32_t kDefaultLocalBytes = 1024;
/// Registers of a thread below which no compiler goes.
constexpr std::uint32_t kFewestRegisters = 24;

/// A build with what only the decisions need.
struct Candidate {
    CopyBuild* build = nullptr;
    Attempt current;
    std::vector<Attempt> tried;  ///< compiled, and not good
    bool wants_reassembled = false;
    bool done = false;
};

CodeFigures figures_of(const inject::Compiled& compiled) {
    return {compiled.registers, compiled.stack_bytes, compiled.static_shared_bytes};
}

/// What a copy is held against: the code that runs, else what its PTX gives without programs.
std::optional<CodeFigures> baseline_of(const CopyBuild& build) {
    if (build.original && build.original->registers != 0)
        return build.original;
    return build.reassembled ? std::optional(figures_of(*build.reassembled)) : std::nullopt;
}

void refuse(Candidate& candidate, Diagnostic why, bool failed) {
    candidate.build->refusal = std::move(why);
    candidate.build->failed = failed;
    candidate.done = true;
}

void take(Candidate& candidate, Attempt attempt) {
    auto& notes = candidate.build->notes;
    if (attempt.knobs.spare_wgmma)
        notes.emplace_back("nothing between wgmma.fence and commit_group: the compiler would serialise them");
    if (attempt.knobs.capped)
        notes.push_back(fmt::format("registers capped at {}", attempt.compiled->registers));
    if (!attempt.knobs.accumulators)
        notes.emplace_back("no sums in registers");
    candidate.build->chosen = std::move(attempt);
    candidate.done = true;
}

bool keeps_residency(const CopyBuild& build, std::uint32_t architecture, const CodeFigures& original,
                     const inject::Compiled& copy) {
    return first_size_with_fewer(architecture, build.bounds, original.registers, copy.registers) == 0;
}

/// Builds again with other knobs; false where these give nothing new.
bool begin(Candidate& candidate, const Knobs& knobs) {
    auto copy = candidate.build->rebuild(knobs);
    if (!copy) {
        refuse(candidate, copy.error(), false);
        return false;
    }
    candidate.current = {knobs, std::move(*copy), std::nullopt};
    if (!knobs.capped)
        return true;
    const auto original = baseline_of(*candidate.build);
    const std::uint32_t limit = std::max(same_allocation(original->registers), kFewestRegisters);
    candidate.current.copy.ptx = with_register_limit(candidate.current.copy.ptx, candidate.build->entry, limit);
    return true;
}

/// The next knobs to try, in the order in which they cost: fewer registers, then no sums in registers, then both. Fewer
/// registers only where they were the trouble.
std::optional<Knobs> next_knobs(const Candidate& candidate, bool too_many_registers) {
    Knobs knobs = candidate.current.knobs;
    if (too_many_registers && !knobs.capped) {
        knobs.capped = true;
        return knobs;
    }
    if (!knobs.accumulators || candidate.tried.front().copy.accumulators == 0)
        return std::nullopt;
    knobs.capped = false;
    knobs.accumulators = false;
    return knobs;
}

std::string numbers_of(const Candidate& candidate, const CodeFigures& original, std::uint32_t architecture) {
    const auto& build = *candidate.build;
    const auto& first = *candidate.tried.front().compiled;
    std::string text;
    if (const auto threads = first_size_with_fewer(architecture, build.bounds, original.registers, first.registers))
        text =
            fmt::format("{} -> {} registers: for blocks of {} threads an SM holds {} warps, not {}", original.registers,
                        first.registers, format_count(threads), resident_warps(architecture, first.registers, threads),
                        resident_warps(architecture, original.registers, threads));
    else
        text = fmt::format("{} -> {} bytes of local memory a thread", original.local_bytes, first.stack_bytes);
    for (const auto& attempt : candidate.tried)
        if (attempt.knobs.capped)
            text += fmt::format("; capped at {}{} it takes {} bytes of local memory", attempt.compiled->registers,
                                attempt.knobs.accumulators ? "" : ", without sums in registers,",
                                attempt.compiled->stack_bytes);
    return text;
}

/// All was tried and nothing is as good as the original: the best of what may run, else a refusal.
void settle(Candidate& candidate, const CodeFigures& original, std::uint32_t architecture) {
    const std::uint32_t most_local = std::max(original.local_bytes, kDefaultLocalBytes);
    Attempt* best = nullptr;
    for (auto& attempt : candidate.tried) {
        const auto& compiled = *attempt.compiled;
        if (compiled.stack_bytes <= most_local && keeps_residency(*candidate.build, architecture, original, compiled) &&
            (best == nullptr || compiled.spill_bytes < best->compiled->spill_bytes))
            best = &attempt;
    }
    if (best != nullptr) {
        const auto bytes = best->compiled->spill_bytes;
        if (bytes != 0)
            candidate.build->notes.push_back(fmt::format("spills {} bytes", bytes));
        return take(candidate, std::move(*best));
    }
    auto why = error("EGPU-A016", numbers_of(candidate, original, architecture));
    why.fix = "attach fewer programs to this kernel, or leave it out with --exclude-kernel";
    refuse(candidate, std::move(why), false);
}

/// Decides about a copy that was compiled.
void judge(Candidate& candidate, const ImageBuild& image) {
    CopyBuild& build = *candidate.build;
    const inject::Compiled& copy = *candidate.current.compiled;
    if (build.first_registers == 0)
        build.first_registers = copy.registers;
    if (build.original && copy.static_shared_bytes != build.original->static_shared_bytes) {
        auto why = error("EGPU-A015", fmt::format("its PTX takes {} bytes of static shared memory, the running code {}",
                                                  copy.static_shared_bytes, build.original->static_shared_bytes));
        why.fix = "build the program so that its PTX is the source of its machine code (one -gencode for both)";
        return refuse(candidate, std::move(why), false);
    }
    const auto advice = inject::advice_count(copy.messages);
    const auto original = baseline_of(build);
    // Nothing to compare with: the copy without programs is compiled in the next round, unless no compiler takes it.
    if ((advice != 0 || !original) && !build.reassembled && !candidate.wants_reassembled) {
        candidate.wants_reassembled = true;
        return;
    }
    Knobs knobs = candidate.current.knobs;
    if (advice != 0 && !knobs.spare_wgmma && build.reassembled &&
        advice > inject::advice_count(build.reassembled->messages) * candidate.current.copy.bodies) {
        knobs.spare_wgmma = true;
        static_cast<void>(begin(candidate, knobs));
        return;
    }
    if (!original)
        return take(candidate, std::move(candidate.current));
    const bool fits = keeps_residency(build, image.architecture, *original, copy);
    if (fits && copy.stack_bytes <= original->local_bytes)
        return take(candidate, std::move(candidate.current));
    candidate.tried.push_back(candidate.current);
    if (const auto next = next_knobs(candidate, !fits))
        static_cast<void>(begin(candidate, *next));
    else
        settle(candidate, *original, image.architecture);
}

/// Compiles what each candidate needs next.
void compile_round(Assembler& assembler, const inject::Compiler& compiler, const ImageBuild& image,
                   std::vector<Candidate>& candidates) {
    std::vector<CompileJob> jobs;
    std::vector<std::pair<Candidate*, bool>> owners;  // whose, and whether it is the copy without programs
    for (auto& candidate : candidates) {
        if (candidate.done)
            continue;
        const bool no_original = !candidate.build->original || candidate.build->original->registers == 0;
        const bool reassembled = candidate.wants_reassembled || no_original;
        if (!candidate.current.compiled) {
            jobs.push_back({candidate.current.copy.ptx, candidate.build->entry, image.options});
            owners.emplace_back(&candidate, false);
        }
        if (!reassembled || candidate.build->reassembled)
            continue;
        candidate.wants_reassembled = true;
        if (auto text = inject::reassembled_copy(*image.module, candidate.build->entry)) {
            jobs.push_back({std::move(*text), candidate.build->entry, image.options});
            owners.emplace_back(&candidate, true);
        }
    }
    auto results = assembler.compile_all(compiler, jobs);
    for (std::size_t i = 0; i < results.size(); ++i) {
        auto& [candidate, is_reassembled] = owners[i];
        if (is_reassembled && results[i])
            candidate->build->reassembled = std::move(*results[i]);
        else if (!is_reassembled && results[i])
            candidate->current.compiled = std::move(*results[i]);
        else if (!is_reassembled)
            refuse(*candidate, results[i].error(), true);
    }
}

}  // namespace

void build_copies(Assembler& assembler, const inject::Compiler& compiler, const ImageBuild& image,
                  std::vector<CopyBuild>& builds) {
    std::vector<Candidate> candidates;
    for (auto& build : builds)
        if (!build.refusal)
            candidates.push_back({&build, std::move(build.chosen), {}, false, false});
    while (std::any_of(candidates.begin(), candidates.end(), [](const Candidate& one) { return !one.done; })) {
        compile_round(assembler, compiler, image, candidates);
        for (auto& candidate : candidates)
            if (!candidate.done)
                judge(candidate, image);
    }
}

std::string with_register_limit(const std::string& ptx, const std::string& entry, std::uint32_t registers) {
    const auto parsed = ptx::parse(ptx, "copy");
    const auto* function = parsed ? parsed->function(entry) : nullptr;
    if (function == nullptr || !function->body)
        return ptx;
    std::string text = ptx;
    const std::string limit = fmt::format(".maxnreg {}\n", registers);
    text.insert(function->body->open.begin, limit);
    for (const auto& directive : function->directives)  // in front of the body, so the ranges still hold
        if (directive.name == "maxnreg")
            text.replace(directive.range.begin, directive.range.end - directive.range.begin,
                         std::string(directive.range.end - directive.range.begin, ' '));
    return text;
}

}  // namespace egpu::host
