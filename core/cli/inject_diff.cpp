// SPDX-License-Identifier: Apache-2.0
#include "cli/inject_diff.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cli/inject/modules.hpp"
#include "cli/inject/trial.hpp"
#include "cli/inject/unified_diff.hpp"
#include "cli/terminal.hpp"
#include "ptx/syntax/parser.hpp"

namespace egpu::cli {
namespace {

/// The variables of egpu's own and the functions with a body that the copy has, in its order, as they stand in
/// `module`; what the copy leaves out of the module (other kernels) would only be noise.
std::string text_of_functions(const ptx::Module& module, const ptx::Module& copy) {
    std::string text;
    const auto add = [&](ptx::Range range) {
        text += module.slice(range);
        text += '\n';
    };
    for (const auto& variable : module.variables)
        if (variable.name.starts_with("egpu_"))
            add(variable.range);
    for (const auto& function : copy.functions)
        if (const auto* same = module.function(function.name);
            same != nullptr && same->body != nullptr && function.body != nullptr)
            add(same->range);
    return text;
}

Result<std::string> difference_text(const NamedModule& original, const std::string& entry, const std::string& text) {
    const auto copy = ptx::parse(text, entry);
    if (!copy)
        return copy.errors();
    return unified_diff(text_of_functions(original.module, *copy), text_of_functions(*copy, *copy),
                        fmt::format("{} {}", original.name, entry), fmt::format("{} {} (copy)", original.name, entry));
}

}  // namespace

Status print_difference(const std::vector<NamedModule>& modules, const std::string& entry, const std::string& copy) {
    for (const auto& module : modules) {
        const auto* function = module.module.function(entry);
        if (function == nullptr || !function->is_entry)
            continue;
        const auto difference = difference_text(module, entry, copy);
        if (!difference)
            return difference.errors();
        fmt::print("{}", *difference);
        return ok();
    }
    return error("EGPU-P201", fmt::format("no file has the kernel '{}'", entry));
}

int report_differences(const std::vector<std::string>& files) {
    auto kinds = kinds_named("gpu/mem");
    const auto programs = kinds ? programs_that_count(*kinds) : Result<KindPrograms>(kinds.errors());
    if (!programs) {
        print_errors(programs.errors());
        return kBug;
    }
    Trial trial;
    trial.add(programs->object, 0);
    bool any = false;
    for (const auto& file : files) {
        const auto modules = read_modules(file);
        if (!modules) {
            print_errors(modules.errors());
            return kEnvironment;
        }
        for (const auto& module : *modules)
            for (const auto* kernel : kernels_of(module.module)) {
                const std::string name(kernel->name);
                const auto copy = trial.copy_of(module.module, name);
                const auto difference = copy ? difference_text(module, name, copy->ptx) : copy.errors();
                if (difference)
                    fmt::print("{}", *difference);
                else
                    print_errors(difference.errors());
                any = any || difference.has_value();
            }
    }
    return any ? kYes : kNo;
}

}  // namespace egpu::cli
