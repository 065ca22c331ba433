// SPDX-License-Identifier: Apache-2.0
// What the commands of egpu probeset share.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

#include "host/probesets/asked.hpp"
#include "host/probesets/load.hpp"

namespace egpu::cli {

struct LoadedSet {
    host::ProbeSet set;
    host::Asked asked;
};
/// A set by its name or file, with everything that it names.
Result<LoadedSet> load_set(const std::string& name);

/// EGPU-S019 with "did you mean".
Diagnostic unknown_set(const std::string& name, const std::vector<std::string>& known);

/// "not the first 20, then 500 of each kernel".
std::string launches_text(const host::LaunchWindow& launches);

void add_probeset_explain(CLI::App& command, int* exit_code);

}  // namespace egpu::cli
