// SPDX-License-Identifier: Apache-2.0
// Walk: follows every path of a program on abstract values, in the style of the Linux verifier. Loops are walked round
// by round; paths end at an exit or at a state that an earlier one covers.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "ebpf/verifier/explored.hpp"
#include "ebpf/verifier/rules/rule.hpp"
#include "ebpf/verifier/verifier.hpp"
#include "ebpf/verifier/walk_log.hpp"

namespace egpu::ebpf {

class Walk {
public:
    /// `searched`: places (State::place) of lookups known to be dynamic from a walk before.
    Walk(const Object& object, const Program& program, const VerifierOptions& options, const Flow& flow,
         const std::set<std::uint64_t>& searched);
    Result<Verification> run();
    /// Lookups that this walk took for static on one path and for dynamic on another: a search costs on both.
    std::set<std::uint64_t> undecided() const;

private:
    struct Pending {
        State state;
        Explored::Node node;
    };
    enum class Step { next, path_ended };

    // walk.cpp
    Verdict follow(Pending path);
    Verdict arrive(State& state, Explored::Node& node, bool& ended);
    Verdict step(State& state, Explored::Node node, bool& ended);
    Verdict pay(State& state, const Cost& cost, Explored::Node node);
    Verdict check_total(const State& state, const Cost& total, Explored::Node node) const;
    std::uint32_t limit() const;
    bool names_again(const State& state) const;
    void note(const State& state, const std::optional<Refusal>& note);
    Scene scene(const State& state) const { return {object_, program_, context_, state, state.at}; }

    // arithmetic_step.cpp
    Verdict step_arithmetic(State& state);
    Verdict step_immediate64(State& state);
    Value operand(const State& state, const Instruction& instruction) const;

    // memory_step.cpp
    Verdict step_load(State& state);
    Verdict step_store(State& state);
    Verdict step_atomic(State& state);
    Value loaded(State& state, const MemoryAccess& access);
    void note_written(const MemoryAccess& access);
    void note_atomic(State& state, const MemoryAccess& access);
    Verdict use_stack(const State& state, const MemoryAccess& access);

    // branch_step.cpp
    Verdict step_branch(State& state, Explored::Node node);

    // call_step.cpp
    Verdict step_helper(State& state, Explored::Node node);
    Verdict step_local_call(State& state);
    Verdict step_exit(State& state, Explored::Node node, bool& ended);
    Scalar memory_content(const State& state, const MemoryAccess& access) const;
    Verdict helper_memory(State& state, const Helper& called, Scalar& key);
    bool lookup_is_static(State& state, Scalar& key);
    Value helper_result(State& state, const Helper& called, const Scalar& key);
    Verdict check_total_stack(std::uint32_t& bytes) const;

    const Object& object_;
    const Program& program_;
    const VerifierOptions& options_;
    const Flow& flow_;
    const ContextKind context_;
    const std::set<std::uint64_t>& searched_;

    std::vector<Pending> pending_;
    Explored explored_;
    std::uint64_t steps_ = 0;
    Verification found_;
    std::set<std::pair<std::uint32_t, std::uint32_t>> dynamic_lookups_;
    std::set<std::uint64_t> static_places_, dynamic_places_;
    std::map<std::uint32_t, std::uint32_t> stack_of_function_;  ///< bytes
    std::set<std::pair<std::uint32_t, std::uint32_t>> calls_;   ///< caller, called
    std::set<std::pair<std::uint32_t, std::string>> noted_;     ///< instruction, code
    WalkLog log_;
    State refused_state_;  ///< of a refusal, for its message
};

}  // namespace egpu::ebpf
