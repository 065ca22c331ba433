// SPDX-License-Identifier: Apache-2.0
// The original's variables, by address: a copy has none of its own, so that both see the same memory (DESIGN 6 rule 4).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "inject/clone/constants.hpp"
#include "inject/codegen/table.hpp"
#include "inject/match/outline.hpp"
#include "ptx/syntax/edit.hpp"

namespace egpu::inject {

/// True for a variable whose memory is the original's: .global and .const at module scope.
bool is_shared_with_original(const ptx::Variable& variable);

/// Edits one function so that it reaches module variables through registers, but for constants that the copy has
/// itself.
class Addressing {
public:
    Addressing(const ptx::Module& module, const ptx::Function& function, const ConstantBank& bank, Table& table,
               ptx::Editor& editor)
        : outline_(module, function), bank_(bank), table_(table), editor_(editor) {}

    /// Makes the edits. EGPU-P23x for a use that can't be written with an address.
    Status rewrite();
    /// Declares and loads the registers: for the start of the function. "" where none is used.
    std::string start_text() const;
    /// The register with the address of the original's variable; "" where the function names none of that name that is
    /// shared with the original.
    std::string register_of(std::string_view symbol) const;

private:
    struct Key {
        std::string_view symbol;
        std::int64_t offset = 0;
        auto operator<=>(const Key&) const = default;
    };
    Status rewrite_instruction(std::size_t index, const ptx::Instruction& instruction);
    Status rewrite_operand(std::size_t index, const ptx::Instruction& instruction, const ptx::Operand& operand);
    bool reads_bank(std::size_t index, const ptx::Operand& address) const;
    Status rewrite_constant_space(std::size_t index, const ptx::Instruction& instruction);
    std::string register_for(Key key);
    Diagnostic refuse_local(const ptx::Variable& variable) const;
    Diagnostic refuse(const ptx::Instruction& instruction, std::string_view code, std::string message) const;

    Outline outline_;
    const ConstantBank& bank_;
    Table& table_;
    ptx::Editor& editor_;
    std::map<Key, std::uint32_t> registers_;
};

}  // namespace egpu::inject
