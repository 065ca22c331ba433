// SPDX-License-Identifier: Apache-2.0
// Rule 7: functions of the program itself: no recursion, 8 frames at most, and one stack of 512 bytes for all of them,
// since each byte is reserved for every resident thread.
#include <fmt/format.h>

#include <algorithm>

#include "ebpf/verifier/rules/rule.hpp"
#include "ebpf/verifier/source/expression.hpp"

namespace egpu::ebpf {

Verdict check_local_call(const Scene& scene, std::uint32_t target) {
    Refusal refusal;
    refusal.code = "EGPU-V023";
    const auto& frames = scene.state.frames;
    if (std::any_of(frames.begin(), frames.end(), [&](const Frame& frame) { return frame.function == target; })) {
        refusal.message = "a function calls itself here";
        refusal.why = "recursion has no bound that could be shown, and each thread's stack is 512 bytes";
        refusal.fix = "write it as a loop with a fixed bound";
        return refusal;
    }
    if (frames.size() < kFrameLimit)
        return std::nullopt;
    refusal.message = fmt::format("calls are nested more than {} deep here", kFrameLimit);
    refusal.why = "each function keeps its registers while it waits";
    refusal.fix = "mark the inner functions static __always_inline";
    return refusal;
}

Verdict check_return(const Scene& scene) {
    if (scene.state.frames.size() == 1)
        return std::nullopt;
    const Value result = scene.state.get(0);
    if (result.kind != Kind::stack || result.frame + 1 < scene.state.frames.size())
        return std::nullopt;
    Refusal refusal;
    refusal.code = "EGPU-V020";
    refusal.message = "a function returns a pointer to its own variable";
    refusal.why = "its stack is gone when it has returned";
    refusal.fix = "let the caller pass a pointer to a variable of its own";
    return refusal;
}

/// By the line that its first instruction belongs to: "f" of "static __noinline int f(int n)".
static std::string name_of_function(const Program& program, std::uint32_t first) {
    if (first == 0)
        return program.name;
    const LineInfo* line = program.line_of(first);
    const std::string name = line == nullptr ? std::string() : declared_function(line->text);
    if (!name.empty())
        return name;
    return line != nullptr && line->line != 0 ? fmt::format("the function at line {}", line->line)
                                              : fmt::format("the function at instruction {}", first);
}

Verdict check_stack_depth(const Scene& scene, const std::vector<FunctionStack>& chain) {
    std::uint32_t bytes = 0;
    std::string sum;
    for (const FunctionStack& each : chain)
        bytes += each.bytes;
    if (bytes <= static_cast<std::uint32_t>(kStackBytes))
        return std::nullopt;
    for (const FunctionStack& each : chain)
        if (each.bytes != 0)
            sum += fmt::format("{}{}: {}", sum.empty() ? "" : " + ", name_of_function(scene.program, each.function),
                               each.bytes);
    Refusal refusal;
    refusal.code = "EGPU-V024";
    refusal.message = fmt::format("the functions called here need {} bytes of stack together", bytes);
    refusal.why = fmt::format(
        "{} = {} bytes; a program has {} for all its functions: GPU memory for each is reserved for every resident "
        "thread",
        sum, bytes, kStackBytes);
    refusal.fix = "use smaller variables, or a map";
    return refusal;
}

}  // namespace egpu::ebpf
