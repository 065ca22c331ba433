// SPDX-License-Identifier: Apache-2.0
// Where the cache is, and whose.
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <limits>

#include <fmt/format.h>

#include "inject/cache/cache.hpp"

namespace egpu::inject {
namespace {

std::string variable(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr ? value : "";
}

bool is_ours(const std::string& folder) {
    struct stat info {};
    return folder.starts_with('/') && ::stat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode) &&
           info.st_uid == ::geteuid();
}

bool is_missing(const std::string& path) {
    struct stat info {};
    return ::lstat(path.c_str(), &info) != 0 && errno == ENOENT;
}

std::string home_of_password_database() {
    char buffer[16384];
    passwd entry{};
    passwd* found = nullptr;
    if (::getpwuid_r(::geteuid(), &entry, buffer, sizeof buffer, &found) != 0 || found == nullptr)
        return {};
    return found->pw_dir != nullptr ? found->pw_dir : "";
}

/// "64M", "1G", "4096"; nullopt where it is none.
std::optional<std::uint64_t> size_of(const std::string& text) {
    std::uint64_t value = 0;
    std::size_t at = 0;
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) {
        if (value > std::numeric_limits<std::uint64_t>::max() / 16)
            return std::nullopt;
        value = value * 10 + static_cast<std::uint64_t>(text[at] - '0');
    }
    if (at == 0)
        return std::nullopt;
    const std::string unit = text.substr(at);
    const unsigned shift = unit == "K" || unit == "KiB"   ? 10
                           : unit == "M" || unit == "MiB" ? 20
                           : unit == "G" || unit == "GiB" ? 30
                                                          : 0;
    if ((shift == 0 && !unit.empty()) || (shift != 0 && value >> (64 - shift) != 0))
        return std::nullopt;
    return value << shift;
}

std::string users_folder() {
    // A folder that is there has to be ours; one that is still to be made, below one that is.
    const auto named = variable("XDG_CACHE_HOME");
    if (is_ours(named) || (named.starts_with('/') && is_missing(named) && is_ours(named.substr(0, named.rfind('/')))))
        return named + "/egpu";
    for (const auto& home : {variable("HOME"), home_of_password_database()})
        if (is_ours(home))
            return home + "/.cache/egpu";
    return {};
}

}  // namespace

CacheSettings cache_settings() {
    CacheSettings settings;
    const std::string use = variable("EGPU_CACHE");
    if (use == "0" || use == "off") {
        settings.off_because = fmt::format("EGPU_CACHE={}", use);
        settings.asked_off = true;
        return settings;
    }
    if (const std::string size = variable("EGPU_CACHE_SIZE"); !size.empty()) {
        const auto bytes = size_of(size);
        if (!bytes) {
            settings.off_because = fmt::format("EGPU_CACHE_SIZE={} is no size such as 256M", size);
            return settings;
        }
        settings.limit = *bytes;
        if (settings.limit == 0) {
            settings.off_because = "EGPU_CACHE_SIZE=0";
            settings.asked_off = true;
            return settings;
        }
    }
    settings.folder = variable("EGPU_CACHE_DIR");
    if (settings.folder.empty())
        settings.folder = users_folder();
    else if (!settings.folder.starts_with('/')) {
        settings.off_because = fmt::format("EGPU_CACHE_DIR={} is no absolute path", settings.folder);
        settings.folder.clear();
        return settings;
    }
    if (settings.folder.empty())
        settings.off_because = "this user has no home folder of its own";
    return settings;
}

}  // namespace egpu::inject
