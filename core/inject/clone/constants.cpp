// SPDX-License-Identifier: Apache-2.0
//   before:  .const .align 4 .f32 table[2] = {0f3F800000, 0f40000000};  .const .u32 other;
//            ld.const.f32  %f1, [table+4];
//            mov.u64       %rd1, table;
//            add.s64       %rd2, %rd1, %rd9;
//            ld.const.f32  %f2, [%rd2];
//            cvta.const.u64 %rd3, other;                          // its address leaves the function's sight
//   after:   .visible .const .align 4 .b8 table[8];               // `other` is read by address (addressing.cpp)
//            ld.const.f32  %f1, [table+4];                        // and the rest stays as it was
//            ...
// An address in the constant window is an offset into the module's own bank, so it may be nothing that a program could
// compare with the original's, store, or hand on. Registers are followed by name over all of a function, whatever the
// order and the scope: where one name has any other use or any other value, the variable is read by address.
#include "inject/clone/constants.hpp"

#include <algorithm>
#include <set>
#include <unordered_set>

#include <fmt/format.h>

#include "inject/match/outline.hpp"
#include "ptx/opcodes/memory.hpp"

namespace egpu::inject {
namespace {

using ptx::Operand;
using Variables = std::set<const ptx::Variable*>;

/// A bank has 64 KiB (CUDA C++ guide, compute capabilities). The rest is for egpu_table.
constexpr std::uint64_t kMostBytes = 56 * 1024;

/// A compiler's text, in which registers stand behind what they come from, needs three. Odd texts are not worth the
/// time.
constexpr std::uint32_t kMostRounds = 32;

std::uint64_t alignment_of(const ptx::Variable& variable) {
    return std::max<std::uint64_t>({variable.alignment, ptx::type_bytes(variable.type) * variable.vector, 1});
}

bool may_lie_in_a_bank(const ptx::Variable& variable) {
    return variable.space == ptx::Space::constant && variable.linkage != "extern" && variable.attributes.empty() &&
           variable.bytes() != 0 && ptx::type_bytes(variable.type) != 0;
}

/// Follows the addresses of constant variables through one function.
class Uses {
public:
    Uses(const ptx::Module& module, const ptx::Function& function) : outline_(module, function) {
        std::uint32_t rounds = 0;
        while (spread())
            if (++rounds == kMostRounds) {  // what is not settled by then is of variables that are known by then
                for (const auto& [name, variables] : registers_)
                    escape(variables);
                break;
            }
        // What a caller or callee puts into a register stands in no instruction here.
        for (const auto* list : {&function.parameters, &function.returns})
            for (const auto& parameter : *list)
                if (const auto known = registers_.find(parameter.name); known != registers_.end())
                    escape(known->second);
        for (std::size_t index = 0; index < outline_.items().size(); ++index)
            if (const auto* instruction = outline_.items()[index].instruction())
                look_at(index, *instruction);
    }

    const Variables& read() const { return read_; }
    const Variables& escaped() const { return escaped_; }
    const std::unordered_map<std::string_view, Variables>& registers() const { return registers_; }

private:
    /// Constant variables that an operand's value may point into.
    Variables pointed_to(std::size_t index, const Operand& operand) const {
        Variables found;
        const auto add = [&](std::string_view name) {
            const auto meaning = outline_.meaning_of(name, index);
            if (meaning.kind == Meaning::Kind::module_variable) {
                if (meaning.variable->space == ptx::Space::constant)
                    found.insert(meaning.variable);
            } else if (const auto known = registers_.find(name); known != registers_.end()) {
                found.insert(known->second.begin(), known->second.end());
            }
        };
        if (operand.kind == Operand::Kind::other)
            for (const auto name : identifiers_in(operand.text))
                add(name);
        else
            add(base_name(operand));
        return found;
    }

    /// True for instructions of 64 bits whose result is one of their sources, or one plus a number: then these sources
    /// are operands `first` and behind.
    static bool derives(const ptx::Instruction& instruction, std::size_t* first, std::size_t* last) {
        const auto& operands = instruction.operands;
        const std::string_view name = instruction.parts.front();
        const bool wide = std::any_of(instruction.parts.begin(), instruction.parts.end(), [](std::string_view part) {
            return part == "u64" || part == "s64" || part == "b64";
        });
        if (!wide || operands.empty() || operands[0].kind != Operand::Kind::identifier)
            return false;
        *first = 1;
        *last = operands.size();
        if (name == "mad" && instruction.has("lo") && operands.size() == 4)
            *first = 3;
        else if (name == "selp" && operands.size() == 4)
            *last = 3;
        else if (!(name == "mov" && operands.size() == 2) &&
                 !((name == "add" || name == "sub") && operands.size() == 3))
            return false;
        return std::all_of(operands.begin() + 1, operands.end(), [](const Operand& operand) {
            return operand.kind == Operand::Kind::identifier || operand.kind == Operand::Kind::integer;
        });
    }

    /// One more round over the function; true where a register points to more than was known.
    bool spread() {
        bool more = false;
        for (std::size_t index = 0; index < outline_.items().size(); ++index) {
            const auto* instruction = outline_.items()[index].instruction();
            std::size_t first = 0, last = 0;
            if (instruction == nullptr || !derives(*instruction, &first, &last))
                continue;
            for (std::size_t at = first; at < last; ++at)
                for (const auto* variable : pointed_to(index, instruction->operands[at]))
                    more = registers_[instruction->operands[0].text].insert(variable).second || more;
        }
        return more;
    }

    void escape(const Variables& variables) { escaped_.insert(variables.begin(), variables.end()); }

    void escape_all(std::size_t index, const ptx::Instruction& instruction) {
        for (const Operand& whole : instruction.operands)
            for (const Operand* operand : with_parts(whole))
                escape(pointed_to(index, *operand));
    }

    /// A derivation is one of a single variable's address, and of no other operand than it must be.
    void look_at_derivation(std::size_t index, const ptx::Instruction& instruction, std::size_t first,
                            std::size_t last) {
        const auto& operands = instruction.operands;
        const Variables to = pointed_to(index, operands[0]);
        if (to.empty())
            return escape_all(index, instruction);
        const bool either = instruction.parts.front() == "selp";
        std::size_t pointers = 0;
        bool numbers_only = true;
        for (std::size_t at = 1; at < operands.size(); ++at) {
            if (pointed_to(index, operands[at]).empty())
                continue;
            const bool may = at >= first && at < last && !(instruction.parts.front() == "sub" && at == 2);
            pointers += may ? 1 : 0;
            numbers_only = numbers_only && may;
        }
        if (to.size() != 1 || !numbers_only || pointers != (either ? 2U : 1U))
            escape_all(index, instruction);
    }

    /// Addresses into one variable may be compared with each other: a loop's end.
    bool compares_within_one(std::size_t index, const ptx::Instruction& instruction) const {
        const auto& operands = instruction.operands;
        if (instruction.parts.front() != "setp" || operands.size() != 3)
            return false;
        const Variables left = pointed_to(index, operands[1]), right = pointed_to(index, operands[2]);
        return left.size() == 1 && left == right;
    }

    void look_at(std::size_t index, const ptx::Instruction& instruction) {
        const auto& operands = instruction.operands;
        std::size_t first = 0, last = 0;
        if (derives(instruction, &first, &last))
            return look_at_derivation(index, instruction, first, last);
        if (compares_within_one(index, instruction))
            return;
        if (instruction.parts.front() != "ld" || !instruction.has("const") || operands.size() != 2 ||
            operands[1].kind != Operand::Kind::address || !operands[1].parts.empty())
            return escape_all(index, instruction);
        for (const Operand* target : with_parts(operands[0]))
            escape(pointed_to(index, *target));
        const Variables from = pointed_to(index, operands[1]);
        read_.insert(from.begin(), from.end());
        if (from.size() > 1)
            escape(from);
    }

    Outline outline_;
    std::unordered_map<std::string_view, Variables> registers_;
    Variables read_, escaped_;
};

}  // namespace

ConstantBank::ConstantBank(const ptx::Module& module, const std::vector<const ptx::Function*>& functions) {
    if (std::none_of(module.variables.begin(), module.variables.end(), may_lie_in_a_bank))
        return;
    Variables read, escaped;
    std::vector<std::pair<const ptx::Function*, Uses>> found;
    for (const auto* function : functions) {
        if (function->body == nullptr)
            continue;
        const auto& uses = found.emplace_back(function, Uses(module, *function)).second;
        read.insert(uses.read().begin(), uses.read().end());
        escaped.insert(uses.escaped().begin(), uses.escaped().end());
    }
    std::uint64_t bytes = 0;
    for (const auto& variable : module.variables) {
        if (!may_lie_in_a_bank(variable) || !read.contains(&variable) || escaped.contains(&variable))
            continue;
        const std::uint64_t room = variable.bytes() + alignment_of(variable);
        if (bytes + room > kMostBytes)
            continue;
        bytes += room;
        variables_.push_back(&variable);
    }
    for (const auto& [function, uses] : found)
        for (const auto& [name, to] : uses.registers())
            if (to.size() == 1 && holds(**to.begin()))
                pointers_[function].emplace(name, *to.begin());
}

bool ConstantBank::holds(const ptx::Variable& variable) const {
    return std::find(variables_.begin(), variables_.end(), &variable) != variables_.end();
}

std::string_view ConstantBank::pointed_to(const ptx::Function& function, std::string_view register_name) const {
    const auto of_function = pointers_.find(&function);
    if (of_function == pointers_.end())
        return {};
    const auto found = of_function->second.find(register_name);
    return found == of_function->second.end() ? std::string_view() : found->second->name;
}

std::vector<BankedConstant> ConstantBank::variables() const {
    std::vector<BankedConstant> result;
    for (const auto* variable : variables_)
        result.push_back({std::string(variable->name), variable->bytes()});
    return result;
}

std::string ConstantBank::declarations() const {
    std::string text;
    for (const auto* variable : variables_)
        text += fmt::format(".visible .const .align {} .b8 {}[{}];\n", alignment_of(*variable), variable->name,
                            variable->bytes());
    return text;
}

}  // namespace egpu::inject
