// SPDX-License-Identifier: Apache-2.0
#include "ebpf/verifier/walk_log.hpp"

#include <fmt/format.h>

#include <iterator>

namespace egpu::ebpf {
namespace {

constexpr std::size_t kLongestWalk = std::size_t{4} << 20;

std::string trimmed(const std::string& text) {
    const std::size_t start = text.find_first_not_of(" \t");
    return start == std::string::npos ? std::string() : text.substr(start);
}

bool same(const Value& a, const Value& b) {
    return a.same_base(b) && a.scalar.bits == b.scalar.bits && a.scalar.wide == b.scalar.wide;
}

}  // namespace

std::string registers_text(const State& state, const Object& object, ContextKind context) {
    std::string text;
    for (unsigned i = 0; i < 10; ++i) {
        const Value value = state.get(i);
        if (value.kind != Kind::uninitialised)
            text += fmt::format("{}r{}={}", text.empty() ? "" : " ", i, to_text(value, object, context));
    }
    return text;
}

bool WalkLog::writing() {
    if (!enabled_ || full_)
        return false;
    if (text_.size() < kLongestWalk)
        return true;
    text_ += "the walk goes on; its text is cut here\n";
    full_ = true;
    return false;
}

void WalkLog::source_line(std::uint32_t at) {
    const LineInfo* line = program_.line_of(at);
    // One line has several entries, one a column.
    const bool same =
        line != nullptr && last_line_ != nullptr && line->line == last_line_->line && line->file == last_line_->file;
    if (line == nullptr || same)
        return;
    last_line_ = line;
    fmt::format_to(std::back_inserter(text_), "; {} @ {}:{}\n", trimmed(line->text), line->file, line->line);
}

void WalkLog::begin_path(const State& state, std::uint32_t from) {
    if (!writing())
        return;
    last_line_ = nullptr;
    if (from != state.at)
        fmt::format_to(std::back_inserter(text_), "\nfrom {} to {}: ", from, state.at);
    else
        fmt::format_to(std::back_inserter(text_), "{}: ", state.at);
    text_ += registers_text(state, object_, context_) + " r10=fp0\n";
}

void WalkLog::covered(const State& state) {
    if (writing())
        fmt::format_to(std::back_inserter(text_), "{}: safe\n", state.at);
}

void WalkLog::step(const State& before, const State& after) {
    if (!writing())
        return;
    source_line(before.at);
    const Instruction& i = program_.instructions[before.at];
    const Instruction* next = i.opcode == kLoadImmediate64 ? &program_.instructions[before.at + 1] : nullptr;
    std::string line = fmt::format("{}: ({:02x}) {}", before.at, i.opcode, to_text(i, next));
    std::string changed;
    if (before.frames.size() == after.frames.size())
        for (unsigned r = 0; r < 10; ++r)
            if (const Value now = after.get(r); now.kind != Kind::uninitialised && !same(before.get(r), now))
                changed += fmt::format(" r{}={}", r, to_text(now, object_, context_));
    if (!changed.empty())
        line = fmt::format("{:<42};{}", line, changed);
    text_ += line + '\n';
}

void WalkLog::end(std::uint64_t steps, std::size_t states) {
    if (enabled_)
        fmt::format_to(std::back_inserter(text_), "processed {} insns, {} states\n", steps, states);
}

}  // namespace egpu::ebpf
