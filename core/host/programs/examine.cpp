// SPDX-License-Identifier: Apache-2.0
#include "host/programs/examine.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace egpu::host {
namespace {

void refuse(ExaminedPlugin& plugin, std::string reason, std::string hint) {
    plugin.file.state = PluginState::refused_program;
    plugin.file.reason = std::move(reason);
    plugin.file.hint = std::move(hint);
}

}  // namespace

ExaminedPlugin examine_plugin(PluginFile file, const Trial& trial) {
    ExaminedPlugin plugin;
    plugin.file = tried(std::move(file), trial);
    if (!plugin.file.ok())
        return plugin;
    auto probe = load_probe(plugin.file.path);
    if (!probe) {
        plugin.problems = probe.errors();
        refuse(plugin, probe.error().message, "egpu check on its .bpf.c shows the place");
        return plugin;
    }
    plugin.probe = std::move(*probe);
    const auto& programs = plugin.probe->programs;
    const auto refused = std::find_if(programs.begin(), programs.end(),
                                      [](const CheckedProgram& checked) { return !checked.verification; });
    if (refused != programs.end())
        refuse(plugin,
               fmt::format("its program {} is refused: {}", plugin.probe->object->programs[refused->index].name,
                           refused->refusal.empty() ? "" : refused->refusal.front().message),
               fmt::format("egpu plugin check {} shows the place", plugin.file.path));
    return plugin;
}

}  // namespace egpu::host
