// SPDX-License-Identifier: Apache-2.0
// Where probe sets are looked for by name.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/probesets/load.hpp"

namespace egpu::host {

/// In the order of search: $EGPU_PROBESET_PATH (a list with colons), $XDG_CONFIG_HOME/egpu/probesets (~/.config where
/// it isn't set), <datadir>/egpu/probesets.
std::vector<std::string> probe_set_folders();

/// Every NAME.yaml in these folders, the first of a name; by name.
struct FoundSet {
    std::string name, path;
};
std::vector<FoundSet> find_probe_sets();
std::optional<std::string> find_probe_set(const std::string& name);

/// The machine's files.
SetFiles system_set_files();

}  // namespace egpu::host
