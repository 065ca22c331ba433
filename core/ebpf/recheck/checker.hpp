// SPDX-License-Identifier: Apache-2.0
// Looks on while a specialised program is walked: each fact must hold at each visit, and what is executed at run time
// may only use what is there at run time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ebpf/specializer/specializer.hpp"
#include "ebpf/verifier/observer.hpp"

namespace egpu::ebpf {

class Checker final : public Observer {
public:
    /// `walked`: as with_calls() makes it.
    Checker(const SpecializedProgram& program, const Program& walked, const SiteConstants& constants);

    std::optional<std::uint64_t> constant_field(const ContextField& field) const override;
    bool costs(std::uint32_t at) const override { return program_.facts[at].needed; }
    Verdict before_step(const State& state) override;
    Verdict after_step(State& state) override;
    Verdict branches(bool can_take, bool can_pass) override;

    /// The instruction at hand: where a refusal belongs.
    std::uint32_t at() const { return at_; }

private:
    /// Memory that an instruction accesses in one of its ways.
    struct Use {
        MemoryAccess access;
        Span span;
        bool reads = false, writes = false;
        bool in_stack = false;  ///< and inside its frame
    };

    // checker.cpp: facts
    bool agrees(const specializer::Value& claimed, const State& state, unsigned index) const;
    Verdict check_operands(const State& state) const;
    Verdict check_memory(const State& state) const;
    Verdict check_field(const MemoryAccess& access) const;
    Verdict check_result(State& state) const;
    Scene scene(const State& state) const { return {*program_.object, walked_, context_, state, state.at}; }
    const InstructionFacts& facts() const { return program_.facts[at_]; }
    const Instruction& instruction() const { return walked_.instructions[at_]; }

    // run_time.cpp: what is there at run time
    void find_uses(const State& state, const Helper* called);
    specializer::Value claimed(unsigned index) const;
    bool is_named() const;
    bool is_spare(unsigned index) const;
    bool reads_argument(const Helper& called, unsigned argument) const;
    Verdict check_effect(const Helper* called) const;
    Verdict check_present(const State& state) const;
    Verdict check_slots() const;
    void mark_written(State& state) const;
    void mark_frames(State& state) const;

    // accesses.cpp: what is said of accesses to maps
    Verdict check_listed() const;
    Verdict check_sum(const AccumulatorUse& sum, const Use& use) const;
    Verdict check_update_listed(const State& state) const;

    const SpecializedProgram& program_;
    const Program& walked_;
    const SiteConstants& constants_;
    const ContextKind context_;
    std::vector<const AccumulatorUse*> sums_;  ///< by instruction
    std::vector<const MapAccess*> accesses_;   ///< by instruction
    // Of the step at hand:
    std::uint32_t at_ = 0;
    std::vector<Use> uses_;
    std::optional<Value> result_;  ///< of a call, where the verifier doesn't know it
    LeftOut left_out_before_;      ///< of the frame that a call or an exit leaves
    std::size_t frames_before_ = 0;
};

/// A fact that doesn't hold.
Refusal broken(std::string message);

}  // namespace egpu::ebpf
