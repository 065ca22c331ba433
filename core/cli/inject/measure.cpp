// SPDX-License-Identifier: Apache-2.0
#include "cli/inject/measure.hpp"

#include <algorithm>

#include "ptx/syntax/parser.hpp"

namespace egpu::cli {
namespace {

using Clock = std::chrono::steady_clock;

void count_instructions(const ptx::Scope& scope, std::size_t& count) {
    for (const auto& statement : scope.statements) {
        if (const auto* inner = std::get_if<std::unique_ptr<ptx::Scope>>(&statement))
            count_instructions(**inner, count);
        else if (std::holds_alternative<ptx::Instruction>(statement))
            ++count;
    }
}

}  // namespace

ModuleFigures measure_module(const NamedModule& named, int repeats) {
    const ptx::Module& module = named.module;
    ModuleFigures figures;
    figures.bytes = module.text->size();
    figures.lines = static_cast<std::size_t>(std::count(module.text->begin(), module.text->end(), '\n'));
    figures.functions = module.functions.size();
    figures.variables = module.variables.size();
    for (const auto& function : module.functions)
        if (function.body != nullptr)
            count_instructions(*function.body, figures.instructions);
    figures.parsing = named.parsing;
    for (int i = 0; i < repeats; ++i) {
        std::string text = *module.text;
        const auto begin = Clock::now();
        const auto again = ptx::parse(std::move(text), named.name);
        figures.parsing = std::min<std::chrono::nanoseconds>(figures.parsing, Clock::now() - begin);
    }
    return figures;
}

KernelFigures measure_kernel(const NamedModule& named, const std::string& kernel, const Trial& trial, int repeats) {
    KernelFigures figures;
    figures.kernel = kernel;
    for (int i = 0; i < repeats; ++i) {
        const auto begin = Clock::now();
        const auto copy = trial.copy_of(named.module, kernel);
        const std::chrono::nanoseconds passed = Clock::now() - begin;
        if (!copy) {
            figures.problem = copy.errors();
            return figures;
        }
        if (i == 0 || passed < figures.planning + figures.injecting) {
            figures.planning = copy->planning;
            figures.injecting = passed - copy->planning;
        }
        figures.sites = copy->sites;
        figures.accumulators = copy->accumulators;
        figures.instructions_added = copy->instructions_added;
        figures.bytes = copy->ptx.size();
    }
    return figures;
}

}  // namespace egpu::cli
