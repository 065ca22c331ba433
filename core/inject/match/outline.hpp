// SPDX-License-Identifier: Apache-2.0
// A function laid out flat: its statements in the order of the text, each with its scope, and what a name means there.
// Match, rewrite and clone all walk this list instead of the nested tree, so no walk needs recursion.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ptx/syntax/tree.hpp"

namespace egpu::inject {

/// What a name stands for at one place in a function.
struct Meaning {
    enum class Kind {
        unknown,          ///< special register, label, or a name that nothing declares
        local,            ///< register or variable declared in the function
        parameter,        ///< formal or return parameter of the function
        module_variable,  ///< variable at module scope
        function,         ///< device function or entry
    };
    Kind kind = Kind::unknown;
    const ptx::Variable* variable = nullptr;  ///< local, parameter, module_variable
    const ptx::Function* function = nullptr;  ///< function
};

/// One statement that is not a scope.
struct OutlineItem {
    const ptx::Statement* statement = nullptr;
    std::uint32_t scope = 0;
    const ptx::Instruction* instruction() const { return std::get_if<ptx::Instruction>(statement); }
    const ptx::Label* label() const { return std::get_if<ptx::Label>(statement); }
    const ptx::Variable* variable() const { return std::get_if<ptx::Variable>(statement); }
    const ptx::Directive* directive() const { return std::get_if<ptx::Directive>(statement); }
};

class Outline {
public:
    Outline(const ptx::Module& module, const ptx::Function& function);

    const ptx::Module& module() const { return *module_; }
    const ptx::Function& function() const { return *function_; }
    const std::vector<OutlineItem>& items() const { return items_; }
    std::uint32_t parent_of(std::uint32_t scope) const { return scopes_[scope].parent; }
    static constexpr std::uint32_t kNoScope = 0xffffffff;

    /// What `name` means at item `index`: the innermost declaration before it, else the function's parameters, else the
    /// module's names (PTX ISA 4.4: a name declared in a scope hides outer ones).
    Meaning meaning_of(std::string_view name, std::size_t index) const;
    /// An id for the declaration that `name` refers to at item `index`, the same for the same register everywhere in
    /// the function; 0 where it is no local.
    std::uint64_t identity_of(std::string_view name, std::size_t index) const;
    /// Bits of the register `name` as declared; 0 for what is no register. Predicates have 1.
    std::uint32_t register_bits(std::string_view name, std::size_t index) const;
    /// The item of the label that a branch at item `index` names; items().size() where there is none.
    std::size_t label_target(std::string_view name, std::size_t index) const;

private:
    struct Declared {
        const ptx::Variable* variable = nullptr;
        std::size_t index = 0;  ///< item that declares it
    };
    struct NamesOfScope {
        std::uint32_t parent = kNoScope;
        std::unordered_map<std::string_view, std::vector<Declared>> plain;    ///< "%p1", "smem"
        std::unordered_map<std::string_view, std::vector<Declared>> counted;  ///< "%r" of %r<9>
        std::unordered_map<std::string_view, std::size_t> labels;
    };
    const Declared* find_local(std::string_view name, std::size_t index) const;
    void add_item(const ptx::Statement& statement, std::uint32_t scope);

    const ptx::Module* module_;
    const ptx::Function* function_;
    std::vector<OutlineItem> items_;
    std::vector<NamesOfScope> scopes_;
    std::unordered_map<std::string_view, const ptx::Variable*> parameters_;
};

/// The symbol or register of an identifier or address operand: "counter" of `counter+4` and of `[counter+4]`.
std::string_view base_name(const ptx::Operand& operand);

/// The operand and everything in it (vector elements, list entries, what follows the first comma of an address).
std::vector<const ptx::Operand*> with_parts(const ptx::Operand& operand);

/// Identifiers in the raw text of an operand of kind `other` ("generic", "counter" of `generic(counter)`).
std::vector<std::string_view> identifiers_in(std::string_view text);

}  // namespace egpu::inject
