// SPDX-License-Identifier: Apache-2.0
// Which functions a kernel's copy needs, and the two reasons for which a copy would compute something else: a device
// function pointer is an offset into a table of its own entry, so one that was made by the original means another
// function in the copy, and the other way round (DESIGN 6 rule 2).
#include <unordered_set>

#include <fmt/format.h>

#include "inject/match/match.hpp"
#include "inject/match/outline.hpp"

namespace egpu::inject {
namespace {

using ptx::Operand;

Diagnostic refuse(std::string_view code, std::string message, const ptx::Instruction* at = nullptr,
                  const ptx::Module* module = nullptr) {
    Diagnostic diagnostic = error(code, std::move(message));
    if (at != nullptr && at->source.line != 0) {
        diagnostic.where.file = std::string(module->file_name(at->source.file));
        diagnostic.where.line = at->source.line;
        diagnostic.where.column = at->source.column;
    }
    return diagnostic;
}

/// The operand that names the callee: the first that is no list (PTX ISA 9.7.12.5: call (ret), name, (params)).
const Operand* callee_operand(const ptx::Instruction& call) {
    for (const auto& operand : call.operands)
        if (operand.kind != Operand::Kind::list)
            return &operand;
    return nullptr;
}

class Reach {
public:
    explicit Reach(const ptx::Module& module) : module_(module) {}

    Result<std::vector<const ptx::Function*>> from(const ptx::Function& entry) {
        found_.push_back(&entry);
        known_.insert(entry.name);
        for (std::size_t next = 0; next < found_.size(); ++next)
            if (auto status = look_through(*found_[next]); !status)
                return status.errors();
        return found_;
    }

private:
    Status look_through(const ptx::Function& function) {
        const Outline outline(module_, function);
        for (std::size_t index = 0; index < outline.items().size(); ++index) {
            const auto* instruction = outline.items()[index].instruction();
            if (instruction == nullptr)
                continue;
            const Operand* callee = nullptr;
            if (instruction->parts.front() == "call") {
                callee = callee_operand(*instruction);
                if (auto status = follow_call(outline, index, callee); !status)
                    return status;
            }
            for (const auto& operand : instruction->operands)
                if (&operand != callee)
                    if (auto status = check_operand(outline, index, operand); !status)
                        return status;
        }
        return ok();
    }

    Status follow_call(const Outline& outline, std::size_t index, const Operand* callee) {
        const auto* call = outline.items()[index].instruction();
        const auto meaning = callee == nullptr ? Meaning{} : outline.meaning_of(callee->text, index);
        if (callee == nullptr || meaning.kind != Meaning::Kind::function) {
            auto diagnostic = refuse("EGPU-P210", fmt::format("'{}' makes an indirect call", outline.function().name),
                                     call, &module_);
            diagnostic.why = "a function pointer of the original means another function in a copy";
            diagnostic.fix = "leave this kernel out with --exclude-kernel, or compile it without virtual calls";
            return diagnostic;
        }
        if (meaning.function->is_entry)
            return refuse("EGPU-P212", fmt::format("'{}' calls the kernel '{}'", outline.function().name, callee->text),
                          call, &module_);
        if (known_.insert(meaning.function->name).second)
            found_.push_back(meaning.function);
        return ok();
    }

    Status check_operand(const Outline& outline, std::size_t index, const Operand& whole) {
        if (whole.parts.empty())
            return check_names(outline, index, whole);
        for (const Operand* operand : with_parts(whole))
            if (auto status = check_names(outline, index, *operand); !status)
                return status;
        return ok();
    }

    Status check_names(const Outline& outline, std::size_t index, const Operand& operand) {
        if (operand.kind != Operand::Kind::other)
            return check_name(outline, index, base_name(operand));
        for (const auto name : identifiers_in(operand.text))
            if (auto status = check_name(outline, index, name); !status)
                return status;
        return ok();
    }

    Status check_name(const Outline& outline, std::size_t index, std::string_view name) {
        if (!module_.function_index.contains(name) && !module_.variable_index.contains(name))
            return ok();  // a register, nearly always: nobody needs to know which
        const auto meaning = outline.meaning_of(name, index);
        const auto* instruction = outline.items()[index].instruction();
        if (meaning.kind == Meaning::Kind::function)
            return address_taken(outline.function().name, name, instruction);
        if (meaning.kind == Meaning::Kind::module_variable)
            return check_initializer(*meaning.variable, outline.function().name, instruction);
        return ok();
    }

    /// A variable whose initialiser holds a function's address, at once or through other variables.
    Status check_initializer(const ptx::Variable& first, std::string_view user, const ptx::Instruction* instruction) {
        std::vector<const ptx::Variable*> work{&first};
        while (!work.empty()) {
            const ptx::Variable* variable = work.back();
            work.pop_back();
            if (!checked_.insert(variable).second || !variable->initializer)
                continue;
            for (const Operand* operand : with_parts(*variable->initializer)) {
                std::vector<std::string_view> names{base_name(*operand)};
                if (operand->kind == Operand::Kind::other)
                    names = identifiers_in(operand->text);
                for (const auto name : names) {
                    if (name.empty())
                        continue;
                    if (const auto* other = module_.variable(name))
                        work.push_back(other);
                    else if (module_.function(name) != nullptr)
                        return address_taken(fmt::format("{}' through '{}", user, variable->name), name, instruction);
                }
            }
        }
        return ok();
    }

    Status address_taken(std::string_view user, std::string_view name, const ptx::Instruction* instruction) {
        auto diagnostic = refuse("EGPU-P211", fmt::format("'{}' takes the address of function '{}'", user, name),
                                 instruction, &module_);
        diagnostic.why = "a function pointer made in a copy means another function in the original";
        diagnostic.fix = "leave this kernel out with --exclude-kernel, or compile it without function pointers";
        return diagnostic;
    }

    const ptx::Module& module_;
    std::vector<const ptx::Function*> found_;
    std::unordered_set<std::string_view> known_;
    std::unordered_set<const ptx::Variable*> checked_;
};

}  // namespace

Result<std::vector<const ptx::Function*>> reachable_functions(const ptx::Module& module, const ptx::Function& entry) {
    return Reach(module).from(entry);
}

}  // namespace egpu::inject
