// SPDX-License-Identifier: Apache-2.0
// Where plugins are looked for: the folders, in their order, and what is in them.
#pragma once

#include <string>
#include <vector>

#include "host/plugins/plugin_file.hpp"

namespace egpu::host {

struct PluginFolder {
    std::string path;
    std::string origin;    ///< "--plugin-path", "EGPU_PLUGIN_PATH", "personal", "installed"
    std::string left_out;  ///< why nothing of it is used; "" where it is
};

/// Folders of --plugin-path, searched before all others by this process.
void prefer_plugin_folders(std::vector<std::string> folders);

/// In the order of search: --plugin-path, $EGPU_PLUGIN_PATH (a list with colons), $XDG_DATA_HOME/egpu/plugins,
/// <libdir>/egpu/plugins. A privileged process leaves out those that others can write to, of all but --plugin-path and
/// the installation's.
std::vector<PluginFolder> plugin_folders();

/// Every file that ends in .so in these folders, by folder and name; `duplicate` where a file with its id came before.
std::vector<PluginFile> find_plugins();

/// The first usable file with this id, else the first with it (or named so) in any state; nullopt where there is none.
std::optional<PluginFile> find_plugin(const std::string& id);

/// Ids of all plugins found, sorted.
std::vector<std::string> plugin_ids();

}  // namespace egpu::host
