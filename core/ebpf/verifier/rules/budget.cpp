// SPDX-License-Identifier: Apache-2.0
// Rules 5 and 6: every loop ends, and a firing costs a bounded number of instructions. A compute GPU has no watchdog,
// and a program at a load runs as often as the load does.
#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <string_view>
#include <utility>

#include "ebpf/verifier/rules/rule.hpp"

namespace egpu::ebpf {
namespace {

/// `for (` or `while (` stands in the line, as words, before a comment.
bool begins_loop(std::string_view line) {
    const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
    line = line.substr(0, line.find("//"));
    for (const std::string_view word : {"for", "while"})
        for (auto at = line.find(word); at != std::string_view::npos; at = line.find(word, at + 1)) {
            const auto behind = line.find_first_not_of(" \t", at + word.size());
            if ((at == 0 || !is_word(line[at - 1])) && behind != std::string_view::npos && line[behind] == '(')
                return true;
        }
    return false;
}

/// The rounds of `for (int i = 0; i < 200; i++)`, where a line says them so plainly.
std::optional<std::uint32_t> rounds_of(std::string_view line) {
    const auto blank = [](char c) { return c == ' ' || c == '\t'; };
    const auto first = line.find(';'), second = first == line.npos ? first : line.find(';', first + 1);
    if (second == line.npos || line.find("++", second) == line.npos)
        return std::nullopt;
    std::string_view from = line.substr(0, first);
    while (!from.empty() && blank(from.back()))
        from.remove_suffix(1);
    if (!from.ends_with("= 0") && !from.ends_with("=0"))
        return std::nullopt;
    const std::string_view condition = line.substr(first + 1, second - first - 1);
    auto at = condition.find('<');
    if (at == condition.npos || ++at == condition.size() || condition[at] == '=' || condition[at] == '<')
        return std::nullopt;
    while (at < condition.size() && blank(condition[at]))
        ++at;
    std::uint32_t rounds = 0;
    const auto [end, problem] = std::from_chars(condition.data() + at, condition.data() + condition.size(), rounds);
    return problem == std::errc() && end == condition.data() + condition.size() ? std::optional(rounds) : std::nullopt;
}

constexpr std::uint32_t kLargestLimit = 4096;  ///< that of kernel_entry and kernel_exit

void say_too_many_rounds(const Scene& scene, Refusal& refusal, std::uint32_t rounds, std::uint32_t walked,
                         std::uint32_t line, std::uint32_t limit) {
    refusal.message =
        fmt::format("{} rounds of the loop at line {} can take more than {} instructions", rounds, line, limit);
    // Of a loop inside another, more were walked than one turn of it has: they say nothing of what fits.
    refusal.fix =
        walked < rounds
            ? fmt::format(
                  "fewer than {} rounds as long as these (what is behind the loop counts, too), or less in each",
                  walked)
            : "fewer rounds, or less in each";
    if (limit < kLargestLimit)
        refusal.fix += fmt::format("; or gpu/kernel_exit, which may take {}{}", kLargestLimit,
                                   scene.context == ContextKind::kernel ? "" : ", with a kernel's context");
}

}  // namespace

std::uint32_t place_of_loop(const Program& program, std::uint32_t start, std::uint32_t back) {
    const LineInfo* last = program.line_of(back);
    if (last == nullptr)
        return back;
    std::uint32_t place = back;
    std::pair<std::uint32_t, std::uint32_t> least{UINT32_MAX, 0};  // line and column
    for (std::uint32_t at = start; at <= back; ++at) {
        const LineInfo* line = program.line_of(at);
        if (line == nullptr || line->file != last->file || !begins_loop(line->text))
            continue;
        if (std::pair(line->line, line->column) < least) {
            least = {line->line, line->column};
            place = at;
        }
    }
    return place;
}

Verdict check_budget(const Scene& scene, std::uint32_t worst, std::uint32_t limit, const std::optional<Loop>& loop) {
    if (worst <= limit)
        return std::nullopt;
    Refusal refusal;
    if (loop) {
        const LineInfo* line = scene.program.line_of(loop->start);
        const bool known = line != nullptr && line->line != 0;
        refusal.code = "EGPU-V009";
        refusal.message = known ? fmt::format("the loop {} line {} may not end within {} instructions",
                                              begins_loop(line->text) ? "at" : "around", line->line, limit)
                                : fmt::format("this loop may not end within {} instructions", limit);
        refusal.why = fmt::format(
            "followed round by round it had not ended when {} instructions were reached, which is all that a program "
            "at {} may take a firing; a GPU that hangs must be reset",
            limit, scene.program.section);
        refusal.fix =
            "give it a small constant bound: for (int i = 0; i < 16; i++), with a break inside where it may end "
            "sooner; "
            "or do less in each round";
        refusal.at = loop->start;
        if (const auto rounds = known && begins_loop(line->text) ? rounds_of(line->text) : std::nullopt)
            say_too_many_rounds(scene, refusal, *rounds, loop->rounds, line->line, limit);
        return refusal;
    }
    refusal.code = "EGPU-V010";
    refusal.message = fmt::format("the program can take more than {} instructions a firing", limit);
    refusal.why = fmt::format("its longest path takes {} or more; it runs at every {}, and {} is the limit there",
                              worst, scene.program.section, limit);
    refusal.fix = "do less here, or move the work to gpu/kernel_exit, where 4096 are allowed";
    return refusal;
}

Refusal endless_loop(std::uint32_t loop) {
    Refusal refusal;
    refusal.code = "EGPU-V009";
    refusal.message = "this loop may never end";
    refusal.why =
        "no round brings it nearer to an end: all that is known at its start is the same again one round later; a GPU "
        "that hangs must be reset";
    refusal.fix =
        "give it a small constant bound: for (int i = 0; i < 16; i++), with a break inside where it may end sooner";
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
