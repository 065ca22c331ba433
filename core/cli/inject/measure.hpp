// SPDX-License-Identifier: Apache-2.0
// How large modules are, and what programs cost egpu: time of parsing, planning and writing.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "cli/inject/modules.hpp"
#include "cli/inject/trial.hpp"

namespace egpu::cli {

struct ModuleFigures {
    std::size_t bytes = 0, lines = 0, instructions = 0, functions = 0, variables = 0;
    std::chrono::nanoseconds parsing{};
};
/// Parses the module's text again, `repeats` times: the time is the shortest.
ModuleFigures measure_module(const NamedModule& module, int repeats = 5);

struct KernelFigures {
    std::string kernel;
    std::size_t sites = 0, accumulators = 0, instructions_added = 0, bytes = 0;
    std::chrono::nanoseconds planning{}, injecting{};  ///< `injecting` without `planning`
    std::vector<Diagnostic> problem;                   ///< why there is no copy
};
KernelFigures measure_kernel(const NamedModule& module, const std::string& kernel, const Trial& trial, int repeats = 3);

}  // namespace egpu::cli
