// SPDX-License-Identifier: Apache-2.0
#include "host/plugins/discovery.hpp"

#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>

#include <fmt/format.h>

#include "host/installation/folders.hpp"

namespace egpu::host {
namespace {

namespace fs = std::filesystem;

std::vector<std::string>& preferred() {
    static std::vector<std::string> folders;
    return folders;
}

bool privileged() {
    return ::geteuid() == 0 || ::getauxval(AT_SECURE) != 0;
}

/// Who can put a library there that then runs with egpu's rights; "" for nobody but egpu's user and root.
std::string writable_by_others(const std::string& path) {
    struct stat about {};
    if (::stat(path.c_str(), &about) != 0)
        return "";
    if (about.st_uid != 0 && about.st_uid != ::geteuid())
        return fmt::format("it belongs to user {}", about.st_uid);
    return (about.st_mode & (S_IWGRP | S_IWOTH)) != 0 ? "others can write to it" : "";
}

std::string personal_folder() {
    if (const char* data = std::getenv("XDG_DATA_HOME"); data != nullptr && *data == '/')
        return std::string(data) + "/egpu/plugins";
    const char* home = std::getenv("HOME");
    return home != nullptr && *home == '/' ? std::string(home) + "/.local/share/egpu/plugins" : "";
}

void add_folder(std::vector<PluginFolder>& folders, const std::string& path, const char* origin, bool trusted) {
    if (path.empty())
        return;
    PluginFolder folder{path, origin, ""};
    if (!trusted && privileged())
        if (const auto who = writable_by_others(path); !who.empty())
            folder.left_out = fmt::format("left out: {}, and egpu runs with more rights", who);
    folders.push_back(std::move(folder));
}

std::vector<std::string> libraries_in(const PluginFolder& folder) {
    std::vector<std::string> files;
    std::error_code failed;
    if (folder.left_out.empty())
        for (fs::directory_iterator at(folder.path, failed), end; !failed && at != end; at.increment(failed))
            if (at->path().extension() == ".so")
                files.push_back(at->path().string());
    std::sort(files.begin(), files.end());
    return files;
}

bool trusted(const PluginFolder& folder) {
    return folder.origin == "--plugin-path" || folder.origin == "installed";
}

PluginFile read_in(const PluginFolder& folder, const std::string& path) {
    const auto who = trusted(folder) || !privileged() ? std::string() : writable_by_others(path);
    if (who.empty())
        return read_plugin_file(path);
    PluginFile file;
    file.path = path;
    file.state = PluginState::untrusted;
    file.reason = fmt::format("{}, and egpu runs with more rights", who);
    file.hint = fmt::format("chown root: and chmod go-w {}, or name the file itself: -p {}", path, path);
    return file;
}

}  // namespace

void prefer_plugin_folders(std::vector<std::string> folders) {
    preferred() = std::move(folders);
}

std::vector<PluginFolder> plugin_folders() {
    std::vector<PluginFolder> folders;
    for (const auto& path : preferred())
        add_folder(folders, path, "--plugin-path", true);
    if (const char* list = std::getenv("EGPU_PLUGIN_PATH")) {
        std::istringstream parts(list);
        for (std::string path; std::getline(parts, path, ':');)
            add_folder(folders, path, "EGPU_PLUGIN_PATH", false);
    }
    add_folder(folders, personal_folder(), "personal", false);
    add_folder(folders, install_folders().library + "/plugins", "installed", true);
    return folders;
}

std::vector<PluginFile> find_plugins() {
    std::vector<PluginFile> found;
    std::map<std::string, std::string> first;  // id: path
    std::map<std::string, bool> seen;          // a folder may be named twice
    for (const auto& folder : plugin_folders())
        for (const auto& path : libraries_in(folder)) {
            PluginFile file = read_in(folder, path);
            if (std::exchange(seen[file.path], true))
                continue;
            if (file.ok()) {
                const auto [at, is_first] = first.try_emplace(file.about->id, file.path);
                if (!is_first) {
                    file.state = PluginState::duplicate;
                    file.reason = fmt::format("'{}' is {} already, found first", file.about->id, at->second);
                    file.hint = "remove one of them, or name the file itself: -p FILE";
                }
            }
            found.push_back(std::move(file));
        }
    return found;
}

std::optional<PluginFile> find_plugin(const std::string& id) {
    std::optional<PluginFile> unusable;
    for (auto& file : find_plugins()) {
        const bool named = file.about ? file.about->id == id : fs::path(file.path).stem() == id;
        if (named && file.ok())
            return file;
        if (named && !unusable)
            unusable = file;
    }
    return unusable;
}

std::vector<std::string> plugin_ids() {
    std::vector<std::string> ids;
    for (const auto& file : find_plugins())
        if (file.ok())
            ids.push_back(file.about->id);
    std::sort(ids.begin(), ids.end());
    return ids;
}

}  // namespace egpu::host
