// SPDX-License-Identifier: Apache-2.0
#include "ebpf/specializer/fixpoint.hpp"

#include <algorithm>
#include <map>
#include <queue>
#include <set>

#include "ebpf/specializer/problem.hpp"

namespace egpu::ebpf::specializer {
namespace {

/// Steps before giving up, per instruction: each visit of a block moves some value up a lattice of a few steps, so
/// real programs need a handful.
constexpr std::uint64_t kStepsPerInstruction = 500;

class Fixpoint {
public:
    Fixpoint(Machine& machine, const ExpandedProgram& code) : machine_(machine), code_(code), leader_(code.size()) {
        leader_[0] = true;
        for (std::uint32_t at = 0; at < code.size(); at = code.next(at)) {
            const Instruction& i = code.instructions[at];
            if (!is_goto(i) && !is_conditional_jump(i))
                continue;
            leader_[code.target(at)] = true;
            if (code.next(at) < code.size())
                leader_[code.next(at)] = true;
        }
    }

    bool run() {
        arrive(0, machine_.start());
        const std::uint64_t limit = kStepsPerInstruction * code_.size();
        while (!waiting_.empty()) {
            const std::uint32_t block = *waiting_.begin();
            waiting_.erase(waiting_.begin());
            walk(block, nullptr, nullptr);
            if (steps_ > limit)
                return false;
        }
        return true;
    }

    std::vector<InstructionFacts> record(std::vector<Diagnostic>& problems) {
        std::vector<InstructionFacts> facts(code_.size());
        for (const auto& [block, state] : states_)
            walk(block, &facts, &problems);
        return facts;
    }

private:
    /// Block starts in the order of the text: loops settle inside out well enough for programs of this size.
    void arrive(std::uint32_t block, const State& state) {
        const auto [place, is_new] = states_.try_emplace(block, state);
        if (is_new || place->second.merge(state))
            waiting_.insert(block);
    }

    /// One block from its entry state. While recording, ways out are final and lead nowhere new.
    void walk(std::uint32_t block, std::vector<InstructionFacts>* facts, std::vector<Diagnostic>* problems) {
        State state = states_.at(block);
        for (std::uint32_t at = block;; at = code_.next(at)) {
            ++steps_;
            const Flow flow = machine_.step(at, state, facts == nullptr ? nullptr : &(*facts)[at], problems);
            if (flow.taken && facts == nullptr)
                leave(at, code_.target(at), state, true);
            if (!flow.next || code_.next(at) >= code_.size())
                return;
            if (!leader_[code_.next(at)])
                continue;
            if (facts == nullptr)
                leave(at, code_.next(at), state, false);
            return;
        }
    }

    void leave(std::uint32_t at, std::uint32_t to, const State& state, bool taken) {
        State left = state;
        if (is_conditional_jump(code_.instructions[at]))
            machine_.refine(at, left, taken);
        arrive(to, left);
    }

    Machine& machine_;
    const ExpandedProgram& code_;
    std::vector<bool> leader_;
    std::map<std::uint32_t, State> states_;
    std::set<std::uint32_t> waiting_;
    std::uint64_t steps_ = 0;
};

}  // namespace

Result<std::vector<InstructionFacts>> run_to_fixpoint(Machine& machine, const ExpandedProgram& code,
                                                      const Program& program) {
    Fixpoint fixpoint(machine, code);
    if (!fixpoint.run())
        return problem_at(program, 0, "EGPU-V053", "too complex to specialise", "its values did not settle",
                          "split the program, or use fewer variables in its loops");
    std::vector<Diagnostic> problems;
    auto facts = fixpoint.record(problems);
    if (!problems.empty())
        return problems;
    return facts;
}

}  // namespace egpu::ebpf::specializer
