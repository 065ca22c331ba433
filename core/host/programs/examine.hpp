// SPDX-License-Identifier: Apache-2.0
// Everything that can be told of a plugin before a session: its file, its programs, its code.
#pragma once

#include <optional>
#include <vector>

#include "host/plugins/trial.hpp"
#include "host/programs/programs.hpp"

namespace egpu::host {

struct ExaminedPlugin {
    PluginFile file;                   ///< with its state; `about` where the descriptor could be read
    std::optional<LoadedProbe> probe;  ///< where its object could be read: each program with its verdict
    std::vector<Diagnostic> problems;  ///< of its object
};

/// Tries the code of a file (in a process of its own) and verifies its programs; a file that is not ok stays as it is.
ExaminedPlugin examine_plugin(PluginFile file, const Trial& trial = {});

}  // namespace egpu::host
