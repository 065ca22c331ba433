// SPDX-License-Identifier: Apache-2.0
// Rule 9: what all lanes of a firing do together is done where all of them come: in programs that each of them runs,
// and where no branch since the start can have led some of them elsewhere.
//
// That a branch's sides have met again is known from the graph. What was written on one of them counts as the lanes'
// own from there on (State::close), but only on the paths that wrote it: so each branch behind one at which lanes
// parted may part them again (State::later_branches), whatever decides it. Of a loop that lanes leave after different
// rounds it isn't: what one round wrote is the next one's too. Behind such a loop nothing is asked of all lanes any
// more.
#include <algorithm>

#include <fmt/format.h>

#include "ebpf/verifier/rules/rule.hpp"

namespace egpu::ebpf {

Verdict check_lanes(const Scene& scene, const Helper& called) {
    if (!called.asks_lanes())
        return std::nullopt;
    Refusal refusal;
    refusal.code = "EGPU-V025";
    if (scene.program.point.granularity != Granularity::thread) {
        refusal.message = fmt::format("{} in a program that one lane runs", called.name);
        refusal.why = fmt::format("{} is run once for all lanes that are there: the others have no value to give",
                                  scene.program.section);
        const bool bytes = scene.context == ContextKind::mem && scene.program.point.granularity == Granularity::warp;
        refusal.fix = bytes ? "in gpu.warp, ctx->bytes is already the sum over the lanes; for other values use "
                              "SEC(\"gpu/...\"), which each lane runs"
                            : "SEC(\"gpu/...\") is run by each lane";
        return refusal;
    }
    const bool apart = std::ranges::any_of(
        scene.state.divergences, [](const Divergence& open) { return open.variability == Variability::lane; });
    if (apart || (!scene.state.later_branches.empty() && !scene.state.lanes_looped)) {
        refusal.message = fmt::format("{} is called where only some lanes may come", called.name);
        refusal.why = "it asks all lanes that fire together; a branch before it depends on what differs between them";
        refusal.fix = fmt::format("call it before the branch, or for all: {}(condition ? value : 0)", called.name);
        return refusal;
    }
    if (!scene.state.lanes_looped)
        return std::nullopt;
    refusal.message = fmt::format("{} is called behind a loop in which lanes go different ways", called.name);
    refusal.why = "it asks all lanes that fire together; that they do the same after such a loop can't be shown";
    refusal.fix = "call it before the loop, or let the loop's conditions be the same for all lanes";
    return refusal;
}

}  // namespace egpu::ebpf
