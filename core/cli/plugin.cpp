// SPDX-License-Identifier: Apache-2.0
// egpu plugin list|info|new|test|check (TARGETS E6.9): what the commands share.
#include "cli/plugin.hpp"

#include <cstdlib>
#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/terminal.hpp"
#include "host/plugins/discovery.hpp"

namespace egpu::cli {
namespace {

void warn_of_no_folder(const std::string& path, bool in_run) {
    std::error_code failed;
    const auto about = std::filesystem::status(path, failed);
    if (std::filesystem::is_directory(about))
        return;
    const bool there = std::filesystem::exists(about);
    auto warning = error(
        "EGPU-X100", fmt::format("--plugin-path {}: {}", path, there ? "it is no folder" : "there is no such folder"),
        there ? fmt::format("a plugin's file is named itself: {}", path) : "");
    warning.severity = Severity::warning;
    if (in_run)
        say(warning);
    else
        print_errors({warning});
}

}  // namespace

void add_plugin_path_option(CLI::App& command) {
    command
        .add_option_function<std::vector<std::string>>(
            "--plugin-path",
            [&command](const std::vector<std::string>& folders) {
                for (const auto& folder : folders)
                    warn_of_no_folder(folder, command.get_name() == "run");
                host::prefer_plugin_folders(folders);
            },
            "A folder with plugins, searched before all others; repeatable")
        ->take_all()
        ->allow_extra_args(false);
}

std::string shown_path(const std::string& path) {
    std::error_code failed;
    const std::string here = std::filesystem::current_path(failed).string() + "/";
    if (!failed && path.starts_with(here))
        return path.substr(here.size());
    const char* home = std::getenv("HOME");
    if (home != nullptr && *home == '/' && path.starts_with(std::string(home) + "/"))
        return "~" + path.substr(std::string_view(home).size());
    return path;
}

void add_plugin(CLI::App& app, int* exit_code) {
    auto* plugin = app.add_subcommand("plugin", "Plugins: shared libraries with probes");
    plugin->require_subcommand(1);
    add_plugin_list(*plugin, exit_code);
    add_plugin_info(*plugin, exit_code);
    add_plugin_new(*plugin, exit_code);
    add_plugin_test(*plugin, exit_code);
    add_plugin_check(*plugin, exit_code);
}

}  // namespace egpu::cli
