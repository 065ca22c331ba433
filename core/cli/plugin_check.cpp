// SPDX-License-Identifier: Apache-2.0
// egpu plugin check: what keeps a plugin from being used, said before anyone uses it.
#include <algorithm>
#include <filesystem>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/plugin.hpp"
#include "cli/terminal.hpp"
#include "host/plugins/discovery.hpp"
#include "host/programs/examine.hpp"

namespace egpu::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

struct PluginCheckOptions {
    std::vector<std::string> files;
    bool json = false, quiet = false;
};

/// What else it exports: names that may clash with those of other plugins.
std::vector<std::string> needless_exports(const std::string& path) {
    std::vector<std::string> names;
    for (auto& name : host::exported_symbols(path))
        if (name != "egpu_plugin_descriptor")
            names.push_back(std::move(name));
    return names;
}

std::vector<Diagnostic> plugin_problems(const host::ExaminedPlugin& plugin) {
    std::vector<Diagnostic> problems = plugin.problems;
    if (plugin.probe)
        for (const auto& checked : plugin.probe->programs)
            if (!checked.verification)
                problems.insert(problems.end(), checked.refusal.begin(), checked.refusal.end());
    if (!plugin.file.ok()) {
        const bool shown = !problems.empty();
        problems.push_back(to_diagnostic(plugin.file));
        if (shown)
            problems.back().hints.clear();  // they say where to see what stands above
    }
    if (plugin.file.ok())
        if (const auto names = needless_exports(plugin.file.path); !names.empty())
            problems.push_back(error("EGPU-X092",
                                     fmt::format("{}: it exports more than egpu_plugin_descriptor: {}",
                                                 plugin.file.path, fmt::join(names, ", ")),
                                     "build it with egpu_add_plugin(), or hide them: -fvisibility=hidden and a version "
                                     "script"));
    return problems;
}

/// For who names a folder, or an id as `plugin info` takes it.
std::string hint_for_no_file(const std::string& what) {
    std::error_code failed;
    if (fs::is_directory(what, failed)) {
        std::vector<std::string> files;
        for (const auto& folder : {fs::path(what), fs::path(what) / "build"})
            for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed))
                if (at->path().extension() == ".so")
                    files.push_back(at->path().string());
        std::sort(files.begin(), files.end());
        return files.empty() ? "name the file that was built: NAME.so"
                             : fmt::format("name a file in it: {}", fmt::join(files, ", "));
    }
    const auto found = fs::exists(what, failed) ? std::nullopt : host::find_plugin(what);
    return found ? fmt::format("egpu plugin info {0} takes an id; its file is {1}", what, found->path) : "";
}

bool check_plugin(const std::string& path, const PluginCheckOptions& options, ordered_json& list) {
    auto plugin = host::examine_plugin(host::read_plugin_file(path), {.call = true, .show_output = !options.json});
    if (plugin.file.state == host::PluginState::cannot_open)
        if (auto hint = hint_for_no_file(path); !hint.empty())
            plugin.file.hint = std::move(hint);
    const auto problems = plugin_problems(plugin);
    if (options.json) {
        ordered_json texts = ordered_json::array();
        for (const auto& problem : problems)
            texts.push_back(to_text(problem));
        list.push_back({{"file", plugin.file.path},
                        {"state", host::to_words(plugin.file.state)},
                        {"good", problems.empty()},
                        {"problems", texts}});
        return problems.empty();
    }
    print_errors(problems);
    if (problems.empty() && !options.quiet)
        fmt::print("{}: ok: {} {}, {} program{}{}\n", printable(shown_path(plugin.file.path)), plugin.file.about->id,
                   printable(plugin.file.about->version), plugin.probe->programs.size(),
                   plugin.probe->programs.size() == 1 ? "" : "s",
                   plugin.file.about->has_code ? " and code, which starts and takes empty maps" : "");
    return problems.empty();
}

int check_plugins(const PluginCheckOptions& options) {
    ordered_json list = ordered_json::array();
    bool good = true;
    for (const auto& file : options.files)
        good = check_plugin(file, options, list) && good;
    if (options.json)
        fmt::print("{}\n", list.dump(2, ' ', false, ordered_json::error_handler_t::replace));
    return good ? kYes : kNo;
}

}  // namespace

void add_plugin_check(CLI::App& plugin, int* exit_code) {
    auto options = std::make_shared<PluginCheckOptions>();
    auto* command =
        plugin.add_subcommand("check", "Would egpu use these files? Their code runs in a process of its own");
    command->add_option("FILE", options->files, "A plugin: NAME.so")->required();
    command->add_flag("-j,--json", options->json, "Print JSON");
    command->add_flag("-q,--quiet", options->quiet, "Print only what is wrong");
    command->callback([options, exit_code] { *exit_code = check_plugins(*options); });
}

}  // namespace egpu::cli
