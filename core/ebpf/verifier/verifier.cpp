// SPDX-License-Identifier: Apache-2.0
#include "ebpf/verifier/verifier.hpp"

#include <fmt/format.h>

#include "ebpf/verifier/walk.hpp"

namespace egpu::ebpf {
namespace {

/// Analyses of the graph are allowed a quadratic worst case up to here; no program that fits a firing is near it.
constexpr std::size_t kLargestProgram = 16384;

Diagnostic too_large(const Object& object, const Program& program) {
    Diagnostic diagnostic = error("EGPU-V011", fmt::format("program '{}' has {} instructions, more than {}",
                                                           program.name, program.instructions.size(), kLargestProgram));
    diagnostic.where.file = object.path;
    diagnostic.why = "a program runs in every thread of a kernel";
    diagnostic.fix = "split it, or use loops and functions that aren't inlined";
    return diagnostic;
}

/// Each walk finds more places that are contested or dynamic, or is the last; people's programs need three at most.
constexpr int kWalks = 16;
/// No walk is begun after so many times the limit of one.
constexpr std::uint64_t kEffort = 2;

Diagnostic too_many_walks(const Object& object, const Program& program) {
    Diagnostic diagnostic =
        error("EGPU-V011", fmt::format("program '{}' has too many lookups that depend on one another", program.name));
    diagnostic.where.file = object.path;
    diagnostic.why = "walking it again and again did not settle which of its keys are known before it runs";
    diagnostic.fix = "use fewer lookups inside loops and branches; split the program in two at different events";
    return diagnostic;
}

}  // namespace

Result<Verification> verify(const Object& object, const Program& program, const VerifierOptions& options) {
    if (program.instructions.size() > kLargestProgram)
        return too_large(object, program);
    if (auto encoding = check_encoding(program.instructions); !encoding) {
        auto errors = encoding.errors();
        for (Diagnostic& diagnostic : errors)
            if (diagnostic.where.file.empty())
                diagnostic.where.file = object.path;
        return errors;
    }
    const Flow flow = analyse_flow(program.instructions);
    KnownPlaces known;
    std::uint64_t effort = 0;
    for (int walks = 0; walks < kWalks && effort <= kEffort * options.walk_limit; ++walks) {
        Walk walk(object, program, options, flow, known);
        auto verified = walk.run();
        KnownPlaces missed = walk.missed();
        if (!verified || (missed.searched.empty() && missed.contested.empty()))
            return verified;
        effort += walk.effort();
        known.searched.merge(missed.searched);
        known.contested.merge(missed.contested);
    }
    return too_many_walks(object, program);
}

}  // namespace egpu::ebpf
