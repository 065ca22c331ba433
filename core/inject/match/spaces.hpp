// SPDX-License-Identifier: Apache-2.0
// The memory space behind a generic address, where the function itself says it.
//
//   cvta.shared.u64  %rd2, %rd1;
//   add.s64          %rd3, %rd2, %rd9;
//   ld.f32           %f1, [%rd3];        -> shared
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "inject/match/outline.hpp"
#include "ptx/opcodes/memory.hpp"

namespace egpu::inject {

class GenericSpaces {
public:
    explicit GenericSpaces(const Outline& outline);
    /// The space that every value of the register `name` (as used at item `index`) points to; nullopt where one
    /// definition is not a conversion from a space, or where two differ.
    std::optional<ptx::AccessSpace> space_of(std::string_view name, std::size_t index) const;

private:
    /// What is known of a register over all its definitions in the function.
    struct Fact {
        enum class State : std::uint8_t { undefined, number, space, unknown } state = State::undefined;
        ptx::AccessSpace space = ptx::AccessSpace::generic;
        bool operator==(const Fact&) const = default;
    };
    enum class Combine : std::uint8_t {
        join,        ///< one of the sources
        sum,         ///< the sources added: at most one may be an address
        difference,  ///< the first less the others: only the first may be an address
    };
    struct Definition {
        std::uint64_t to = 0;
        Fact fixed;                          ///< what the definition itself says, before its sources
        std::vector<std::uint64_t> sources;  ///< registers it derives from
        Combine how = Combine::join;
    };
    static Fact join(const Fact& one, const Fact& two);
    Fact evaluate(const Definition& definition) const;
    Definition definition_of(std::size_t index, const ptx::Instruction& instruction, std::uint64_t to) const;
    void collect();

    const Outline& outline_;
    std::vector<Definition> definitions_;
    std::unordered_map<std::uint64_t, Fact> facts_;
};

}  // namespace egpu::inject
