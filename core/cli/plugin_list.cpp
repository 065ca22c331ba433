// SPDX-License-Identifier: Apache-2.0
// egpu plugin list: every file that might be a plugin, with its state (TARGETS E6.9).
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/plugin.hpp"
#include "cli/terminal.hpp"
#include "host/plugins/discovery.hpp"
#include "host/programs/examine.hpp"

namespace egpu::cli {
namespace {

using nlohmann::ordered_json;

struct PluginListOptions {
    std::vector<std::string> files;
    bool json = false;
};

std::vector<host::PluginFile> all_plugins(const PluginListOptions& options) {
    std::vector<host::PluginFile> plugins;
    if (options.files.empty())
        plugins = host::find_plugins();
    for (const auto& file : options.files)
        plugins.push_back(host::read_plugin_file(file));
    plugins = host::tried_together(std::move(plugins));
    for (auto& plugin : plugins)
        plugin = host::examine_plugin(std::move(plugin)).file;
    return plugins;
}

/// What of it was tried, too: only `plugin check` calls its code.
std::string state_text(const host::PluginFile& plugin) {
    return plugin.ok() && plugin.about->has_code ? "ok (starts)" : host::to_words(plugin.state);
}

ordered_json plugin_text_or_null(const std::string& text) {
    return text.empty() ? ordered_json(nullptr) : ordered_json(text);
}

void print_plugins_json(const std::vector<host::PluginFile>& plugins) {
    ordered_json list = ordered_json::array();
    for (const auto& plugin : plugins) {
        const auto about = plugin.about.value_or(host::PluginAbout{});
        list.push_back(
            {{"id", plugin_text_or_null(about.id)},
             {"version", plugin_text_or_null(about.version)},
             {"state", host::to_words(plugin.state)},
             {"reason", plugin_text_or_null(plugin.reason)},
             {"hint", plugin_text_or_null(plugin.hint)},
             {"file", plugin.path},
             {"license", plugin_text_or_null(about.license)},
             {"summary", plugin_text_or_null(about.summary)},
             {"abi", plugin.about ? ordered_json(fmt::format("{}.{}", about.abi_major, about.abi_minor))
                                  : ordered_json(nullptr)},
             {"has_code", plugin.about && plugin.ok() ? ordered_json(about.has_code) : ordered_json(nullptr)}});
    }
    fmt::print("{}\n", list.dump(2, ' ', false, ordered_json::error_handler_t::replace));
}

void print_plugins_table(const std::vector<host::PluginFile>& plugins) {
    TextTable table;
    for (const char* header : {"ID", "VERSION", "STATE", "FILE"})
        table.column(header, Align::left);
    for (const auto& plugin : plugins) {
        const auto about = plugin.about.value_or(host::PluginAbout{});
        const auto or_dash = [](const std::string& text) { return text.empty() ? "-" : printable(text); };
        table.row({or_dash(about.id), or_dash(about.version), state_text(plugin), printable(shown_path(plugin.path))});
        if (plugin.ok())
            continue;
        table.row({"", "", "", printable(plugin.reason)});
        if (!plugin.hint.empty())
            table.row({"", "", "", printable(plugin.hint)});
    }
    fmt::print("{}", table.text());
}

int list_plugins(const PluginListOptions& options) {
    const auto plugins = all_plugins(options);
    if (options.json)
        print_plugins_json(plugins);
    else
        print_plugins_table(plugins);
    if (options.files.empty())
        for (const auto& folder : host::plugin_folders())
            if (!folder.left_out.empty())
                fmt::print(stderr, "{} ({}): {}\n", printable(shown_path(folder.path)), folder.origin, folder.left_out);
    return kYes;
}

}  // namespace

void add_plugin_list(CLI::App& plugin, int* exit_code) {
    auto options = std::make_shared<PluginListOptions>();
    auto* command = plugin.add_subcommand("list", "Every plugin that is found, with its state");
    command->add_option("FILE", options->files, "These files, instead of those in the plugin folders");
    command->add_flag("-j,--json", options->json, "Print JSON");
    add_plugin_path_option(*command);
    command->footer(
        "Folders, the first plugin with an id wins: --plugin-path, $EGPU_PLUGIN_PATH, $XDG_DATA_HOME/egpu/plugins,\n"
        "<libdir>/egpu/plugins. ok: its descriptor and object can be read, and its programs are accepted; (starts): "
        "its code\n"
        "was loaded and started, in a process of its own. Only egpu plugin check calls its on_snapshot, with empty "
        "maps.");
    command->callback([options, exit_code] { *exit_code = list_plugins(*options); });
}

}  // namespace egpu::cli
