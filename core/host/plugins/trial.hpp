// SPDX-License-Identifier: Apache-2.0
// A plugin's code, tried in a process of its own before this one loads it: what blocks or crashes there does so alone.
#pragma once

#include <chrono>
#include <vector>

#include "host/plugins/plugin_file.hpp"

namespace egpu::host {

struct Trial {
    bool call = false;         ///< on_snapshot as well, with maps that are empty
    bool show_output = false;  ///< what the plugin prints goes to stderr, else nowhere
    std::chrono::milliseconds limit{3000};
};

/// The file with what its trial came to: cannot_open, init_failed, call_failed, blocked, crashed. A file that is not
/// ok, or has no code, comes back as it is. A result is kept while the file stays the same.
PluginFile tried(PluginFile file, const Trial& trial = {});

/// tried() of each, a few at a time: those that do not come back are waited for together.
std::vector<PluginFile> tried_together(std::vector<PluginFile> files);

/// The steps of a trial, as the process that carries it out names them to the one that waits.
inline constexpr const char* kTrialCommand = "plugin-trial";
inline constexpr int kTrialPipe = 3;  ///< file descriptor that the steps are written to

}  // namespace egpu::host
