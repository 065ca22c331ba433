// SPDX-License-Identifier: Apache-2.0
#include "host/programs/lookup.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/files.hpp"
#include "base/names.hpp"
#include "host/installation/folders.hpp"
#include "host/plugins/discovery.hpp"

namespace egpu::host {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kObjectSuffix = ".bpf.o";
constexpr std::string_view kSourceSuffix = ".bpf.c";
constexpr std::string_view kPluginSuffix = ".so";

bool looks_like_file(const std::string& what) {
    return what.find('/') != std::string::npos || what.ends_with(".yaml") || what.ends_with(kPluginSuffix) ||
           what.ends_with(".c") || what.ends_with(".o");
}

std::string bare_name(const std::string& path) {
    std::string name = fs::path(path).filename().string();
    for (const auto suffix : {kObjectSuffix, kSourceSuffix})
        if (name.ends_with(suffix))
            name.resize(name.size() - suffix.size());
    return name;
}

Result<Located> as_plugin(PluginFile file) {
    if (!file.ok())
        return to_diagnostic(file);
    Located located{WhatKind::plugin, file.about->id, file.path, std::nullopt};
    located.plugin = std::move(file);
    return located;
}

Result<Located> locate_file(const std::string& what) {
    std::error_code ignored;
    if (!fs::exists(what, ignored))
        return no_such_file(what);
    if (what.ends_with(kPluginSuffix))
        return as_plugin(read_plugin_file(what));
    if (what.ends_with(kSourceSuffix))
        return Located{WhatKind::source, bare_name(what), what, std::nullopt};
    if (what.ends_with(kObjectSuffix))
        return Located{WhatKind::object, bare_name(what), what, std::nullopt};
    if (what.ends_with(".yaml"))
        return error("EGPU-X022", fmt::format("{} is a probe set: it holds probes, and is none itself", what),
                     "egpu run -p takes it");
    if (fs::is_directory(what, ignored))
        return error("EGPU-X022", fmt::format("{} is a folder", what),
                     "name a .bpf.c, .bpf.o, .so or .yaml file in it");
    auto unknown = error("EGPU-X022", fmt::format("{} is no .bpf.c, .bpf.o, .so or .yaml file", what));
    for (const auto suffix : {kSourceSuffix, kObjectSuffix})
        if (const fs::path path = what; path.extension() == fs::path(suffix).extension())
            unknown.hints.push_back(fmt::format("rename it to {}{}", path.stem().string(), suffix));
    return unknown;
}

}  // namespace

std::vector<std::string> installed_programs() {
    std::vector<std::string> names;
    std::error_code failed;
    for (const auto& entry : fs::directory_iterator(fs::path(install_folders().library) / "programs", failed))
        if (entry.path().string().ends_with(kObjectSuffix))
            names.push_back(bare_name(entry.path().string()));
    std::sort(names.begin(), names.end());
    return names;
}

std::vector<std::string> probe_names() {
    auto names = installed_programs();
    for (auto& id : plugin_ids())
        names.push_back(std::move(id));
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
}

Result<Located> locate(const std::string& what) {
    if (looks_like_file(what))
        return locate_file(what);
    if (auto plugin = find_plugin(what))
        return as_plugin(std::move(*plugin));
    std::error_code ignored;
    const fs::path installed = fs::path(install_folders().library) / "programs" / (what + std::string(kObjectSuffix));
    if (fs::exists(installed, ignored))
        return Located{WhatKind::object, what, installed.string(), std::nullopt};
    const auto names = probe_names();
    auto unknown = error("EGPU-X021", fmt::format("no plugin or program is named '{}'", what));
    if (const auto near = nearest(what, names); !near.empty())
        unknown.hints.push_back(fmt::format("did you mean '{}'?", near));
    for (const auto& folder : plugin_folders())
        if (!folder.left_out.empty())
            unknown.hints.push_back(fmt::format("{} ({}) was {}", folder.path, folder.origin, folder.left_out));
    unknown.hints.push_back(fmt::format("there are: {}; a file ends in .so, .bpf.c or .bpf.o", fmt::join(names, ", ")));
    return unknown;
}

}  // namespace egpu::host
