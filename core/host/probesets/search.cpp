// SPDX-License-Identifier: Apache-2.0
#include "host/probesets/search.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "base/files.hpp"
#include "host/installation/folders.hpp"
#include "host/probesets/tree.hpp"
#include "host/programs/programs.hpp"

namespace egpu::host {
namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr ? value : "";
}

}  // namespace

std::vector<std::string> probe_set_folders() {
    std::vector<std::string> folders;
    const std::string list = variable("EGPU_PROBESET_PATH");
    for (std::size_t at = 0; at < list.size();) {
        const auto end = std::min(list.find(':', at), list.size());
        if (end != at)
            folders.push_back(list.substr(at, end - at));
        at = end + 1;
    }
    const std::string config = variable("XDG_CONFIG_HOME"), home = variable("HOME");
    if (config.starts_with('/'))
        folders.push_back((fs::path(config) / "egpu" / "probesets").string());
    else if (!home.empty())
        folders.push_back((fs::path(home) / ".config" / "egpu" / "probesets").string());
    folders.push_back((fs::path(install_folders().data) / "probesets").string());
    return folders;
}

std::vector<FoundSet> find_probe_sets() {
    std::map<std::string, std::string> found;
    for (const auto& folder : probe_set_folders()) {
        std::error_code failed;
        for (const auto& entry : fs::directory_iterator(folder, failed))
            if (entry.path().extension() == ".yaml")
                found.emplace(entry.path().stem().string(), entry.path().string());
    }
    std::vector<FoundSet> sets;
    for (auto& [name, path] : found)
        sets.push_back({name, path});
    return sets;
}

std::optional<std::string> find_probe_set(const std::string& name) {
    if (name.empty() || name.find('/') != std::string::npos)
        return std::nullopt;
    for (const auto& folder : probe_set_folders()) {
        const fs::path path = fs::path(folder) / (name + ".yaml");
        std::error_code failed;
        if (fs::exists(path, failed))
            return path.string();
    }
    return std::nullopt;
}

SetFiles system_set_files() {
    SetFiles files;
    // More than is accepted: the loader says that it is too large.
    files.read = [](const std::string& path) -> Result<std::string> {
        std::error_code failed;
        if (!fs::exists(path, failed))
            return no_such_file(path);
        return read_text(path, std::size_t{64} << 20);
    };
    files.find = find_probe_set;
    files.names = [] {
        std::vector<std::string> names;
        for (const auto& set : find_probe_sets())
            names.push_back(set.name);
        return names;
    };
    return files;
}

}  // namespace egpu::host
