// SPDX-License-Identifier: Apache-2.0
// One step of the abstract machine: what an instruction does to what is known.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ebpf/helpers/helpers.hpp"
#include "ebpf/specializer/graph.hpp"
#include "ebpf/specializer/specializer.hpp"
#include "ebpf/specializer/state.hpp"

namespace egpu::ebpf::specializer {

/// Static keys met so far: (map, bytes) to a number that stands for the slot until slots are given out.
class KeyNumbers {
public:
    std::uint32_t number_of(std::uint32_t map, std::vector<std::uint8_t> bytes);
    const std::pair<std::uint32_t, std::vector<std::uint8_t>>& key(std::uint32_t number) const { return keys_[number]; }

private:
    std::map<std::pair<std::uint32_t, std::vector<std::uint8_t>>, std::uint32_t> numbers_;
    std::vector<std::pair<std::uint32_t, std::vector<std::uint8_t>>> keys_;
};

/// Which ways a step can go on.
struct Flow {
    bool next = true;    ///< to the following instruction
    bool taken = false;  ///< to a jump's target
};

class Machine {
public:
    Machine(const Object& object, const Program& program, const ExpandedProgram& code, const SiteConstants& constants)
        : object_(object), program_(program), code_(code), constants_(constants) {}

    State start() const;
    /// Executes one instruction on `state`. With `facts`, also records what holds there; with `problems`, also what
    /// can't be translated. Both are for the last pass, when states are final.
    Flow step(std::uint32_t at, State& state, InstructionFacts* facts, std::vector<Diagnostic>* problems);
    /// What else is known on one way out of a conditional jump.
    void refine(std::uint32_t at, State& state, bool taken) const;

    KeyNumbers& keys() { return keys_; }
    /// A key that has no slot: its lookups give NULL from now on.
    void mark_absent(std::uint32_t key_number) { absent_.insert(key_number); }
    bool is_absent(std::uint32_t key_number) const { return absent_.count(key_number) != 0; }

private:
    void alu(std::uint32_t at, State& state, InstructionFacts* facts);
    void load(std::uint32_t at, State& state, InstructionFacts* facts);
    void store(std::uint32_t at, State& state, InstructionFacts* facts);
    void atomic(std::uint32_t at, State& state, const Value& base, InstructionFacts* facts);
    Flow jump(std::uint32_t at, State& state, InstructionFacts* facts) const;
    void call(std::uint32_t at, State& state, InstructionFacts* facts);
    Value load_immediate(std::uint32_t at);
    Value load_field(std::uint32_t at, std::int64_t offset, InstructionFacts* facts);
    Value load_constant(std::uint32_t at, const Value& base, std::int64_t offset);
    Value loaded(const Instruction& instruction, const Value& value) const;
    Value lookup(std::uint32_t at, const State& state, bool may_create);
    Value update(std::uint32_t at, const State& state, InstructionFacts* facts);
    Value searched(std::uint32_t at, const State& state, const MapDefinition& definition, std::uint32_t map);
    Value copy_value(std::uint32_t at, State& state);
    Value argument(std::uint32_t at, const State& state);
    Value fields(std::uint32_t at, State& state, HelperId id);
    Value extreme(std::uint32_t at, const State& state);
    Value sent(std::uint32_t at, const State& state);
    Value printed(std::uint32_t at, const State& state);
    bool is_readable(const State& state, const Value& pointer, const Value& size) const;
    Value over_lanes(std::uint32_t at, const State& state);
    const MapDefinition* map_argument(std::uint32_t at, const State& state, std::uint32_t& index);
    /// The bytes behind a pointer where they are known; `sources` else.
    std::optional<std::vector<std::uint8_t>> known_bytes(const State& state, const Value& pointer, std::uint32_t count,
                                                         std::uint64_t& sources) const;
    std::optional<bool> value_available() const;
    Value operand(std::uint32_t at, const State& state) const;
    void refuse(std::uint32_t at, std::string_view code, std::string message, std::string why, std::string fix);

    const Object& object_;
    const Program& program_;
    const ExpandedProgram& code_;
    const SiteConstants& constants_;
    KeyNumbers keys_;
    std::set<std::uint32_t> absent_;
    std::vector<Diagnostic>* problems_ = nullptr;  ///< of the step in progress
};

}  // namespace egpu::ebpf::specializer
