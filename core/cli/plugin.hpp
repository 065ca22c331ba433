// SPDX-License-Identifier: Apache-2.0
// The commands of `egpu plugin`, one file each.
#pragma once

#include <CLI/CLI.hpp>

#include <string>

namespace egpu::cli {

void add_plugin_list(CLI::App& plugin, int* exit_code);
void add_plugin_info(CLI::App& plugin, int* exit_code);
void add_plugin_new(CLI::App& plugin, int* exit_code);
void add_plugin_test(CLI::App& plugin, int* exit_code);
void add_plugin_check(CLI::App& plugin, int* exit_code);

/// --plugin-path DIR, searched before all other folders; repeatable.
void add_plugin_path_option(CLI::App& command);

/// A path as people know it: below the current folder relative to it, below the home folder with ~.
std::string shown_path(const std::string& path);

}  // namespace egpu::cli
