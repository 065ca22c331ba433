// SPDX-License-Identifier: Apache-2.0
// egpu plugin info: what is in a plugin, read from its descriptor and its object's BTF.
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/names.hpp"
#include "cli/plugin.hpp"
#include "cli/terminal.hpp"
#include "host/plugins/discovery.hpp"
#include "host/programs/examine.hpp"

namespace egpu::cli {
namespace {

using nlohmann::ordered_json;

struct PluginInfoOptions {
    std::string what;
    bool json = false;
};

Result<host::PluginFile> choose_plugin(const std::string& what) {
    if (what.find('/') != std::string::npos || what.ends_with(".so"))
        return host::read_plugin_file(what);
    if (auto found = host::find_plugin(what))
        return std::move(*found);
    const auto ids = host::plugin_ids();
    auto unknown = error("EGPU-X021", fmt::format("no plugin is named '{}'", what));
    if (const auto near = nearest(what, ids); !near.empty())
        unknown.hints.push_back(fmt::format("did you mean '{}'?", near));
    unknown.hints.emplace_back("egpu plugin list shows them; a file ends in .so");
    return unknown;
}

std::string plugin_shape_text(const ebpf::TypeShape& shape) {
    std::string text;
    for (const auto& field : shape.fields)
        if (!field.name.empty())
            text += fmt::format("{}{}", text.empty() ? "" : ", ", field.name);
    return text.empty() ? shape.name : fmt::format("{} ({})", shape.name.empty() ? "struct" : shape.name, text);
}

void print_plugin_text(const host::ExaminedPlugin& plugin) {
    const auto& file = plugin.file;
    const auto about = file.about.value_or(host::PluginAbout{});
    const auto line = [](const char* name, const std::string& value) {
        if (!value.empty())
            fmt::print("{:<9}{}\n", name, printable(value));
    };
    line("id", about.id);
    line("version", about.version);
    line("license", about.license);
    line("summary", about.summary);
    line("file", shown_path(file.path));
    line("state", file.ok() ? about.has_code ? "ok: its code starts; egpu plugin check calls it, too" : "ok"
                            : fmt::format("{}: {}", host::to_words(file.state), file.reason));
    line("hint", file.hint);
    if (file.about)
        line("ABI", fmt::format("{}.{}{}", about.abi_major, about.abi_minor, about.has_code ? ", with code" : ""));
    if (!plugin.probe)
        return;
    const auto& object = *plugin.probe->object;
    for (const auto& checked : plugin.probe->programs)
        line("program",
             fmt::format("{}  {}  {}", object.programs[checked.index].name, object.programs[checked.index].section,
                         checked.verification ? "accepted" : "refused"));
    for (const auto& map : object.maps)
        line("map", fmt::format("{}  {} of {} entries  {} -> {}", map.name, ebpf::to_words(map.type), map.max_entries,
                                plugin_shape_text(map.key), plugin_shape_text(map.value)));
    for (const auto& option : object.options)
        line("option", fmt::format("{}  {}  {}", option.name, option.type, option.help));
}

ordered_json plugin_fields_json(const ebpf::TypeShape& shape) {
    ordered_json fields = ordered_json::array();
    for (const auto& field : shape.fields)
        fields.push_back({{"name", field.name}, {"bytes", field.bytes}, {"elements", field.elements}});
    return fields;
}

void print_plugin_json(const host::ExaminedPlugin& plugin) {
    const auto about = plugin.file.about.value_or(host::PluginAbout{});
    ordered_json whole = {{"id", about.id},
                          {"version", about.version},
                          {"license", about.license},
                          {"summary", about.summary},
                          {"file", plugin.file.path},
                          {"state", host::to_words(plugin.file.state)},
                          {"reason", plugin.file.reason},
                          {"hint", plugin.file.hint},
                          {"has_code", about.has_code}};
    for (const char* list : {"programs", "maps", "options"})
        whole[list] = ordered_json::array();
    if (plugin.probe) {
        const auto& object = *plugin.probe->object;
        for (const auto& checked : plugin.probe->programs)
            whole["programs"].push_back({{"name", object.programs[checked.index].name},
                                         {"section", object.programs[checked.index].section},
                                         {"accepted", checked.verification.has_value()}});
        for (const auto& map : object.maps)
            whole["maps"].push_back({{"name", map.name},
                                     {"type", ebpf::to_words(map.type)},
                                     {"max_entries", map.max_entries},
                                     {"key", plugin_fields_json(map.key)},
                                     {"value", plugin_fields_json(map.value)}});
        for (const auto& option : object.options)
            whole["options"].push_back({{"name", option.name}, {"type", option.type}, {"help", option.help}});
    }
    fmt::print("{}\n", whole.dump(2, ' ', false, ordered_json::error_handler_t::replace));
}

int show_plugin(const PluginInfoOptions& options) {
    auto file = choose_plugin(options.what);
    if (!file) {
        print_errors(file.errors());
        return kNo;
    }
    const auto plugin = host::examine_plugin(std::move(*file));
    if (options.json)
        print_plugin_json(plugin);
    else
        print_plugin_text(plugin);
    return plugin.file.ok() ? kYes : kNo;
}

}  // namespace

void add_plugin_info(CLI::App& plugin, int* exit_code) {
    auto options = std::make_shared<PluginInfoOptions>();
    auto* command = plugin.add_subcommand("info", "What is in a plugin: programs, maps, options");
    command->add_option("PLUGIN", options->what, "A plugin's id, or a file: NAME.so")->required();
    command->add_flag("-j,--json", options->json, "Print JSON");
    add_plugin_path_option(*command);
    command->callback([options, exit_code] { *exit_code = show_plugin(*options); });
}

}  // namespace egpu::cli
