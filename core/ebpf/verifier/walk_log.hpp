// SPDX-License-Identifier: Apache-2.0
// The text of -v: each step with the registers it changed, in the layout of the Linux verifier's log.
#pragma once

#include <string>

#include "ebpf/object/object.hpp"
#include "ebpf/verifier/domain/state.hpp"

namespace egpu::ebpf {

/// "r0=... r6=..." of all registers that hold something.
std::string registers_text(const State& state, const Object& object, ContextKind context);

class WalkLog {
public:
    WalkLog(const Object& object, const Program& program, ContextKind context, bool enabled)
        : object_(object), program_(program), context_(context), enabled_(enabled) {}

    void begin_path(const State& state, std::uint32_t from);
    void covered(const State& state);
    void step(const State& before, const State& after);
    void end(std::uint64_t steps, std::size_t states);
    std::string take() { return std::move(text_); }

private:
    bool writing();
    void source_line(std::uint32_t at);

    const Object& object_;
    const Program& program_;
    ContextKind context_;
    bool enabled_;
    bool full_ = false;
    const LineInfo* last_line_ = nullptr;
    std::string text_;
};

}  // namespace egpu::ebpf
