// SPDX-License-Identifier: Apache-2.0
// Walk: follows every path of a program on abstract values, in the style of the Linux verifier. Loops are walked round
// by round; paths end at an exit or at a state that an earlier one covers.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "ebpf/verifier/explored.hpp"
#include "ebpf/verifier/observer.hpp"
#include "ebpf/verifier/rules/rule.hpp"
#include "ebpf/verifier/verifier.hpp"
#include "ebpf/verifier/walk_log.hpp"

namespace egpu::ebpf {

/// Places (State::place) of lookups and atomic operations, as walks before this one found them.
struct KnownPlaces {
    std::set<std::uint64_t> searched;  ///< lookups that are dynamic on some path: a search costs on each
    std::set<std::uint64_t>
        contested;  ///< name different elements on different visits: each path must remember its own
};

class Walk {
public:
    Walk(const Object& object, const Program& program, const VerifierOptions& options, const Flow& flow,
         const KnownPlaces& known, Observer* observer = nullptr);
    Result<Verification> run();
    /// In steps; a comparison of two values weighs less.
    std::uint64_t effort() const { return steps_ + explored_.compared() / 16; }
    /// What this walk should have known; where that is anything, what it found isn't final.
    KnownPlaces missed() const;

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
    Verdict execute(State& state, Explored::Node node, bool& ended);
    Verdict pay(State& state, const Cost& cost, Explored::Node node);
    Verdict check_total(const State& state, const Cost& total, Explored::Node node) const;
    std::uint32_t limit() const;
    bool names_again(const State& state) const;
    void note(const State& state, const std::optional<Refusal>& note);
    void note_addition(const State& state, const std::optional<Refusal>& note);
    Diagnostic warning(const State& state, const Refusal& note) const;
    void keep_note(Diagnostic note);
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
    Value held(State& state, const MemoryAccess& access);
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
    bool names_same(State& state, std::uint64_t element);
    bool lookup_is_static(State& state, Scalar& key);
    Value helper_result(State& state, const Helper& called, const Scalar& key);
    Verdict check_total_stack(std::uint32_t& bytes) const;
    std::uint32_t stack_of(std::uint32_t function) const;

    const Object& object_;
    const Program& program_;
    const VerifierOptions& options_;
    const Flow& flow_;
    const ContextKind context_;
    const bool asks_lanes_;  ///< the program has a helper that asks all lanes: where they part must be known
    const KnownPlaces& known_;
    Observer* const observer_;

    std::vector<Pending> pending_;
    Explored explored_;
    std::uint64_t steps_ = 0;
    Verification found_;
    std::set<std::pair<std::uint32_t, std::uint32_t>> dynamic_lookups_;
    std::set<std::uint64_t> static_places_, dynamic_places_, contested_;
    std::map<std::uint64_t, std::uint64_t> elements_;                            ///< by place, of its first visit
    std::map<std::uint32_t, std::uint32_t> stack_of_function_;                   ///< bytes
    std::set<std::pair<std::uint32_t, std::uint32_t>> calls_;                    ///< caller, called
    std::set<std::pair<std::uint32_t, std::string>> noted_;                      ///< instruction, code
    std::set<std::tuple<std::string, std::string, std::uint32_t>> noted_lines_;  ///< code, file, line
    /// By instruction, the note on an addition; nullopt where it doesn't hold of another path.
    std::map<std::uint32_t, std::optional<Diagnostic>> noted_additions_;
    WalkLog log_;
    State refused_state_;  ///< of a refusal, for its message
};

}  // namespace egpu::ebpf
