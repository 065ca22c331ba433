// SPDX-License-Identifier: Apache-2.0
#include "ebpf/recheck/recheck.hpp"

#include <set>
#include <string>

#include <fmt/format.h>

#include "ebpf/recheck/checker.hpp"
#include "ebpf/recheck/parts.hpp"
#include "ebpf/specializer/problem.hpp"
#include "ebpf/verifier/walk.hpp"

namespace egpu::ebpf {
namespace {

/// `at`: of the specialised program.
Diagnostic defect(const SpecializedProgram& program, std::uint32_t at, const std::string& message) {
    const std::uint32_t origin = at < program.origins.size() ? program.origins[at] : 0;
    return specializer::problem_at(
        *program.program, origin, "EGPU-V059",
        fmt::format("what egpu made of '{}' for a place in a kernel is wrong: {}", program.program->name, message),
        "programs are made smaller for each place, and what was made of this one is not what the verifier accepted",
        "this is a defect of egpu: please report it with the program; the kernel runs as it is, without it");
}

/// Which instructions are there, and of which something is known: a letter each.
std::string outline_of(const SpecializedProgram& program) {
    std::string outline;
    outline.reserve(program.facts.size() * 2);
    for (const InstructionFacts& facts : program.facts) {
        unsigned bits = facts.reachable ? 1 : 0;
        bits |= facts.needed ? 2 : 0;
        bits |= facts.result_needed ? 4 : 0;
        bits |= facts.branch ? (*facts.branch ? 24 : 8) : 0;
        bits |= facts.result ? 32 : 0;
        bits |= facts.pointer_result ? 64 : 0;
        bits |= facts.memory ? 128 : 0;
        outline += static_cast<char>(bits);
        outline += static_cast<char>(facts.destination_after.kind);
    }
    return outline;
}

}  // namespace

struct Recheck::Walked {
    explicit Walked(const SpecializedProgram& made)
        : original(made.program),
          expanded(made.instructions),
          program(with_calls(made)),
          flow(analyse_flow(program.instructions)) {}
    bool is_of(const SpecializedProgram& made) const {
        return original == made.program && expanded == made.instructions;
    }

    std::set<std::string> found_good;  ///< outlines
    const Program* original;
    std::vector<Instruction> expanded;  ///< as specialised programs have them
    Program program;
    Flow flow;
};

Recheck::Recheck() = default;
Recheck::~Recheck() = default;

Status Recheck::check(const SpecializedProgram& program, const SiteConstants& constants,
                      std::uint32_t instruction_limit) {
    for (const auto& misfit : {misfit_in_order(program), misfit_in_stack(program)})
        if (misfit)
            return defect(program, misfit->at, misfit->message);
    if (walked_ == nullptr || !walked_->is_of(program))
        walked_ = std::make_unique<Walked>(program);
    VerifierOptions options;
    options.instruction_limit = instruction_limit;
    const KnownPlaces known;
    Checker checker(program, walked_->program, constants);
    Walk walk(*program.object, walked_->program, options, walked_->flow, known, &checker);
    const auto verified = walk.run();
    if (verified)
        return ok();
    if (verified.error().code == "EGPU-V011") {
        Diagnostic unchecked = defect(program, checker.at(), {});
        unchecked.code = verified.error().code;
        unchecked.message = verified.error().message;
        unchecked.why = verified.error().why;
        unchecked.fix = verified.error().fix;
        return unchecked;
    }
    return defect(program, checker.at(), verified.error().message);
}

Status Recheck::check_new(const SpecializedProgram& program, const SiteConstants& constants) {
    std::string outline = outline_of(program);
    if (walked_ != nullptr && walked_->is_of(program) && walked_->found_good.contains(outline))
        return ok();
    Status checked = check(program, constants);
    if (checked)
        walked_->found_good.insert(std::move(outline));
    return checked;
}

Status recheck(const SpecializedProgram& program, const SiteConstants& constants, std::uint32_t instruction_limit) {
    return Recheck().check(program, constants, instruction_limit);
}

}  // namespace egpu::ebpf
