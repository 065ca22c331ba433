// SPDX-License-Identifier: Apache-2.0
//   before:  .global .u32 counter;            after:  (erased: reached by address)
//            .func helper(...) { ... }                .func helper(...) { ... }
//            .visible .entry wanted(...)              .visible .entry wanted(...)
//            .visible .entry other(...)               (erased)
//            .section .debug_info { ... }             (erased: it names labels of erased functions)
//            .section .debug_str { ... }              (kept: .loc refers to it, and it refers to nothing)
#include "inject/clone/prune.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <unordered_set>

#include <fmt/format.h>

#include "inject/clone/addressing.hpp"
#include "inject/match/outline.hpp"

namespace egpu::inject {
namespace {

using Names = std::unordered_set<std::string_view>;

bool is_reference_type(const ptx::Variable& variable) {
    return variable.type == "texref" || variable.type == "samplerref" || variable.type == "surfref" ||
           variable.space == ptx::Space::texture || variable.space == ptx::Space::sampler ||
           variable.space == ptx::Space::surface;
}

/// Device functions that ptxas itself or every module has; anything else undefined needs a link (CUDA C++ guide:
/// formatted output, assertions, dynamic allocation).
bool is_built_in(std::string_view name) {
    static constexpr std::array<std::string_view, 5> kNames{"vprintf", "malloc", "free", "__assertfail",
                                                            "__assert_fail"};
    return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

/// Module variables that an instruction of these functions names.
std::vector<std::pair<const ptx::Variable*, const ptx::Function*>> used_variables(
    const ptx::Module& module, const std::vector<const ptx::Function*>& functions) {
    std::vector<std::pair<const ptx::Variable*, const ptx::Function*>> used;
    std::unordered_set<const ptx::Variable*> known;
    const auto use = [&](const Outline& outline, std::string_view name, std::size_t index) {
        if (!module.variable_index.contains(name))
            return;  // a register, nearly always: nobody needs to know which
        const auto meaning = outline.meaning_of(name, index);
        if (meaning.kind == Meaning::Kind::module_variable && known.insert(meaning.variable).second)
            used.emplace_back(meaning.variable, &outline.function());
    };
    const auto use_operand = [&](const Outline& outline, const ptx::Operand& operand, std::size_t index) {
        if (operand.kind != ptx::Operand::Kind::other)
            return use(outline, base_name(operand), index);
        for (const auto name : identifiers_in(operand.text))
            use(outline, name, index);
    };
    for (const auto* function : functions) {
        const Outline outline(module, *function);
        for (std::size_t index = 0; index < outline.items().size(); ++index) {
            const auto* instruction = outline.items()[index].instruction();
            if (instruction == nullptr)
                continue;
            for (const auto& whole : instruction->operands) {
                if (whole.parts.empty())
                    use_operand(outline, whole, index);
                else
                    for (const ptx::Operand* operand : with_parts(whole))
                        use_operand(outline, *operand, index);
            }
        }
    }
    return used;
}

Names names_of(const std::vector<const ptx::Function*>& functions) {
    Names names;
    for (const auto* function : functions)
        names.insert(function->name);
    return names;
}

/// `.alias` statements have no range of their own: from the directive to its semicolon.
ptx::Range alias_range(const ptx::Module& module, const ptx::Alias& alias) {
    const std::string& text = *module.text;
    const auto name = static_cast<std::size_t>(alias.name.data() - text.data());
    const auto target = static_cast<std::size_t>(alias.target.data() - text.data());
    const std::size_t begin = text.rfind(".alias", name);
    const std::size_t end = text.find(';', target);
    if (begin == std::string::npos || end == std::string::npos)
        return {};
    return {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end + 1)};
}

/// Variables that share one statement (`.shared .u32 a, b;`) stay or go together.
void prune_variables(const ptx::Module& module, const std::vector<const ptx::Function*>& functions,
                     ptx::Editor& editor) {
    std::unordered_set<std::string_view> used;
    for (const auto& [variable, function] : used_variables(module, functions))
        used.insert(variable->name);
    const auto keep = [&](const ptx::Variable& variable) {
        return !is_shared_with_original(variable) && used.contains(variable.name);
    };
    const auto& all = module.variables;
    for (std::size_t first = 0; first < all.size();) {
        std::size_t last = first;
        while (last + 1 < all.size() && !module.slice(all[last].range).ends_with(';'))
            ++last;
        bool any = false;
        for (std::size_t at = first; at <= last; ++at)
            any = any || keep(all[at]);
        if (!any)
            editor.erase({all[first].range.begin, all[last].range.end});
        first = last + 1;
    }
}

void prune_directives(const ptx::Module& module, ptx::Editor& editor) {
    for (const auto& directive : module.directives)
        if (directive.name == "section" && directive.text.find(".debug_str") == std::string_view::npos)
            editor.erase(directive.range);
    if (std::find(module.target_options.begin(), module.target_options.end(), "debug") == module.target_options.end())
        return;
    // A module for debugging without its sections is refused by ptxas; without the word it is an ordinary one.
    std::string target = fmt::format(".target {}", module.target);
    for (const auto option : module.target_options)
        if (option != "debug")
            target += fmt::format(", {}", option);
    editor.replace(module.target_range, target);
}

/// "%egpu_", "$egpu_" or "egpu_table" where the text has it. One search for what they share: a search that begins at
/// '%' stops at every register.
std::string_view own_name_in(std::string_view text) {
    constexpr std::string_view kCommon = "egpu_";
    const char* const end = text.data() + text.size();
    for (const char* at = text.data();; ++at) {
        at = static_cast<const char*>(memmem(at, static_cast<std::size_t>(end - at), kCommon.data(), kCommon.size()));
        if (at == nullptr)
            return {};
        const char before = at == text.data() ? '\0' : at[-1];
        if (before == '%' || before == '$')
            return before == '%' ? "%egpu_" : "$egpu_";
        if (std::string_view(at, end).starts_with("egpu_table"))
            return "egpu_table";
    }
}

Diagnostic refuse(std::string_view code, std::string message, std::string fix) {
    Diagnostic diagnostic = error(code, std::move(message));
    diagnostic.fix = std::move(fix);
    return diagnostic;
}

}  // namespace

Status check_module(const ptx::Module& module) {
    if (module.address_size != 64)
        return refuse("EGPU-P206", "the module has 32-bit addresses", "compile it with -m64");
    if (!module.target.starts_with("sm_"))
        return refuse("EGPU-P207", fmt::format("the module's target is '{}', not an sm_N", module.target),
                      "compile it for the GPU that it runs on");
    return ok();
}

Status check_functions(const ptx::Module& module, const std::vector<const ptx::Function*>& functions) {
    // What else has such a name is erased with the rest of the module.
    for (const auto* function : functions)
        if (const auto name = own_name_in(module.slice(function->range)); !name.empty())
            return refuse("EGPU-P208",
                          fmt::format("'{}' uses names that begin with '{}': it is an instrumented copy already, or "
                                      "egpu's names are taken",
                                      function->name, name),
                          "give egpu the original module");
    const Names kept = names_of(functions);
    Names defined;
    for (const auto& function : module.functions)
        if (function.body != nullptr && kept.contains(function.name) && !defined.insert(function.name).second)
            return refuse("EGPU-P202", fmt::format("the module defines '{}' more than once", function.name),
                          "give egpu the module as the compiler wrote it");
    for (const auto& alias : module.aliases)
        if (kept.contains(alias.name) || kept.contains(alias.target))
            return refuse("EGPU-P214", fmt::format("'{}' is an alias of '{}'", alias.name, alias.target),
                          "leave this kernel out with --exclude-kernel");
    for (const auto* function : functions)
        if (function->body == nullptr && !is_built_in(function->name))
            return refuse("EGPU-P213", fmt::format("'{}' is called and not defined in this module", function->name),
                          "compile without -rdc, so that a kernel and all that it calls are one module");
    for (const auto& [variable, function] : used_variables(module, functions))
        if (is_reference_type(*variable))
            return refuse(
                "EGPU-P230",
                fmt::format("'{}' uses the {} reference '{}'", function->name, variable->type, variable->name),
                "use texture objects: references are bound by the module that declares them");
    for (const auto& parameter : functions.front()->parameters) {
        const auto& attributes = parameter.attributes;
        if (std::find(attributes.begin(), attributes.end(), "const") != attributes.end())
            return refuse("EGPU-P235", fmt::format("parameter '{}' is an address in constant memory", parameter.name),
                          "leave this kernel out with --exclude-kernel");
    }
    return ok();
}

void prune(const ptx::Module& module, const std::vector<const ptx::Function*>& functions, ptx::Editor& editor) {
    const Names kept = names_of(functions);
    for (const auto& function : module.functions)
        if (!kept.contains(function.name))
            editor.erase(function.range);
    for (const auto& alias : module.aliases)
        editor.erase(alias_range(module, alias));
    prune_variables(module, functions, editor);
    prune_directives(module, editor);
}

}  // namespace egpu::inject
