// SPDX-License-Identifier: Apache-2.0
#include "ebpf/specializer/graph.hpp"

#include <fmt/format.h>

#include <set>

#include "ebpf/specializer/problem.hpp"
#include "ebpf/specializer/value.hpp"

namespace egpu::ebpf::specializer {
namespace {

/// Longest program after its calls are written out; every site pays for it.
constexpr std::size_t kMaxExpanded = 32'768;

bool is_local_call(const Instruction& i) {
    return i.opcode == kCall && i.source == kPseudoCall;
}

Instruction jump_to(std::int64_t from, std::int64_t to) {
    Instruction jump;
    jump.opcode = kClassJmp32;  // kJa: distance in the immediate
    jump.immediate = static_cast<std::int32_t>(to - from - 1);
    return jump;
}

/// A call whose function has still to be copied.
struct Pending {
    std::uint32_t at;        ///< of the call in the expanded program
    std::uint32_t function;  ///< first instruction of the callee
    std::uint32_t caller;    ///< index in `chain`, to find recursion
};
struct Activation {
    std::uint32_t function, caller, depth;
};

class Expander {
public:
    explicit Expander(const Program& program) : program_(program) {
        starts_.insert(0);
        const auto& code = program.instructions;
        for (std::uint32_t at = 0; at < code.size(); ++at) {
            if (is_local_call(code[at]))
                starts_.insert(callee(at));
            if (code[at].opcode == kLoadImmediate64)
                ++at;
        }
    }

    Result<ExpandedProgram> run() {
        if (program_.instructions.size() > kMaxExpanded)
            return problem_at(program_, 0, "EGPU-V053", fmt::format("over {} instructions", kMaxExpanded),
                              "a program is copied to each of its sites", "split it into several programs");
        copy(0, 0, 0, 0);
        for (std::size_t done = 0; done < pending_.size(); ++done) {
            const Pending call = pending_[done];
            if (auto refused = check(call); !refused)
                return refused.errors();
            const auto begin = static_cast<std::int64_t>(out_.size());
            out_.instructions[call.at] = jump_to(call.at, begin);
            copy(call.function, call.caller, activations_[call.caller].depth + 1, call.at + 1);
        }
        return std::move(out_);
    }

private:
    std::uint32_t callee(std::uint32_t at) const {
        return static_cast<std::uint32_t>(static_cast<std::int64_t>(at) + 1 + program_.instructions[at].immediate);
    }

    Status check(const Pending& call) const {
        const std::uint32_t origin = out_.origin[call.at];
        for (std::uint32_t a = call.caller;; a = activations_[a].caller) {
            if (activations_[a].function == call.function)
                return problem_at(program_, origin, "EGPU-V053", "recursive call",
                                  "a GPU program has no call stack: local functions are written out at their calls",
                                  "use a loop with a bound");
            if (a == 0)
                break;
        }
        if (activations_[call.caller].depth + 1 >= kMaxFrames)
            return problem_at(program_, origin, "EGPU-V053", fmt::format("calls nested deeper than {}", kMaxFrames),
                              "local functions are written out at their calls", "call fewer functions in a row");
        if (out_.instructions.size() > kMaxExpanded)
            return problem_at(program_, origin, "EGPU-V053",
                              fmt::format("over {} instructions with its local calls written out", kMaxExpanded),
                              "local functions are copied to each of their calls", "call large functions less often");
        return ok();
    }

    /// Appends one activation of a function; exits jump to `return_to` where it was called.
    void copy(std::uint32_t function, std::uint32_t caller, std::uint32_t depth, std::uint32_t return_to) {
        const auto self = static_cast<std::uint32_t>(activations_.size());
        activations_.push_back({function, caller, depth});
        const auto after = starts_.upper_bound(function);
        const auto end = after == starts_.end() ? static_cast<std::uint32_t>(program_.instructions.size()) : *after;
        for (std::uint32_t at = function; at < end; ++at) {
            const std::uint32_t here = out_.size();
            Instruction i = program_.instructions[at];
            const bool second_half = at > function && program_.instructions[at - 1].opcode == kLoadImmediate64;
            if (!second_half && is_local_call(i))
                pending_.push_back({here, callee(at), self});
            if (!second_half && i.opcode == kExit && depth > 0)
                i = jump_to(here, return_to);
            out_.instructions.push_back(i);
            out_.origin.push_back(at);
            out_.depth.push_back(static_cast<std::uint8_t>(depth));
        }
    }

    const Program& program_;
    std::set<std::uint32_t> starts_;
    std::vector<Activation> activations_;
    std::vector<Pending> pending_;
    ExpandedProgram out_;
};

}  // namespace

Result<ExpandedProgram> expand_calls(const Program& program) {
    return Expander(program).run();
}

}  // namespace egpu::ebpf::specializer
