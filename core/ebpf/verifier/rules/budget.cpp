// SPDX-License-Identifier: Apache-2.0
// Rules 5 and 6: every loop ends, and a firing costs a bounded number of instructions. A compute GPU has no watchdog,
// and a program at a load runs as often as the load does.
#include <fmt/format.h>

#include "ebpf/verifier/rules/rule.hpp"

namespace egpu::ebpf {

Verdict check_budget(const Scene& scene, std::uint32_t worst, std::uint32_t limit, std::optional<std::uint32_t> loop) {
    if (worst <= limit)
        return std::nullopt;
    Refusal refusal;
    const char* event = to_name(scene.program.point.event);
    if (loop) {
        const LineInfo* line = scene.program.line_of(*loop);
        const bool known = line != nullptr && line->line != 0;
        refusal.code = "EGPU-V009";
        refusal.message = known
                              ? fmt::format("the loop at line {} may not end within {} instructions", line->line, limit)
                              : fmt::format("this loop may not end within {} instructions", limit);
        refusal.why = fmt::format(
            "no bound was found in following it so far; a program at gpu/{} may take {} a firing, and a GPU that hangs "
            "must be reset",
            event, limit);
        refusal.fix =
            "give it a small constant bound: for (int i = 0; i < 16; i++), with a break inside where it may end sooner";
        refusal.at = loop;
        return refusal;
    }
    refusal.code = "EGPU-V010";
    refusal.message = fmt::format("the program can take more than {} instructions a firing", limit);
    refusal.why = fmt::format("its longest path takes {} or more; it runs at every gpu/{}, and {} is the limit there",
                              worst, event, limit);
    refusal.fix = "do less here, or move the work to gpu/kernel_exit, where 4096 are allowed";
    return refusal;
}

Refusal endless_loop(std::uint32_t loop) {
    Refusal refusal;
    refusal.code = "EGPU-V009";
    refusal.message = "this loop never ends on some path";
    refusal.why = "it comes back to its start with nothing changed; a GPU that hangs must be reset";
    refusal.fix = "give it a small constant bound: for (int i = 0; i < 16; i++)";
    refusal.at = loop;
    return refusal;
}

Refusal too_complex(std::uint32_t steps) {
    Refusal refusal;
    refusal.code = "EGPU-V011";
    refusal.message = "the program has too many paths to be checked";
    refusal.why = fmt::format("{} steps were walked and paths were still open", steps);
    refusal.fix = "fewer branches inside loops; split the program in two at different events";
    return refusal;
}

}  // namespace egpu::ebpf
