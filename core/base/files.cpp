// SPDX-License-Identifier: Apache-2.0
#include "base/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>

#include "base/names.hpp"
#include "base/write_all.hpp"

namespace egpu {
namespace {

Diagnostic file_error(const std::string& path, std::string_view doing) {
    const int code = errno;
    return error("EGPU-X001", fmt::format("cannot {} {}: {}", doing, path, std::strerror(code)));
}

template <typename Container>
Result<Container> read_whole(const std::string& path, std::size_t limit) {
    // Not to wait for somebody who writes to a pipe, which is refused below.
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return file_error(path, "open");
    struct stat info {};
    if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
        ::close(fd);
        return error("EGPU-X001", fmt::format("{} is not a regular file", path));
    }
    if (static_cast<std::size_t>(info.st_size) > limit) {
        ::close(fd);
        return error("EGPU-X001", fmt::format("{} has {} bytes, more than the {} accepted", path, info.st_size, limit));
    }
    Container content;
    content.resize(static_cast<std::size_t>(info.st_size));
    std::size_t done = 0;
    while (done < content.size()) {
        const ssize_t got = ::read(fd, content.data() + done, content.size() - done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            auto failed = file_error(path, "read");
            ::close(fd);
            return failed;
        }
        if (got == 0)
            break;
        done += static_cast<std::size_t>(got);
    }
    content.resize(done);
    ::close(fd);
    return content;
}

}  // namespace

Result<std::vector<std::byte>> read_file(const std::string& path, std::size_t limit) {
    return read_whole<std::vector<std::byte>>(path, limit);
}

Result<std::string> read_text(const std::string& path, std::size_t limit) {
    return read_whole<std::string>(path, limit);
}

namespace {

/// The longest that the reader of a pipe may take nothing.
constexpr int kPipePatienceMs = 10'000;

/// Writes all of `content` and closes; false with errno set where something failed.
bool write_and_close(int fd, std::string_view content) {
    if (write_all(fd, content, kPipePatienceMs))
        return ::close(fd) == 0;
    const int code = errno;
    ::close(fd);
    errno = code;
    return false;
}

/// The file that a name leads to, also where it doesn't exist yet.
std::string behind_links(std::filesystem::path path) {
    constexpr int kMostLinks = 40;  // as Linux' own limit
    std::error_code failed;
    for (int links = 0; links < kMostLinks && std::filesystem::is_symlink(path, failed); ++links)
        path = path.parent_path() / std::filesystem::read_symlink(path, failed);
    return path.string();
}

}  // namespace

Status write_file(const std::string& path, std::string_view content) {
    // What a name leads to is kept: a link is followed, a device or a pipe is written to, a file keeps its mode.
    const std::string target = behind_links(path);
    struct stat info {};
    const bool exists = ::stat(target.c_str(), &info) == 0;
    if (exists && !S_ISREG(info.st_mode)) {
        // A pipe that nobody reads is an error, not to be waited for; to one that is read, all is written, as long as
        // its reader takes it.
        const int fd = ::open(target.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK);
        if (fd < 0 && errno == ENXIO)
            return error("EGPU-X001", fmt::format("cannot write {}: nobody reads this pipe", path));
        if (fd >= 0 && write_and_close(fd, content))
            return ok();
        if (errno == ETIMEDOUT)
            return error("EGPU-X001", fmt::format("cannot write {}: its reader took nothing for {} s", path,
                                                  kPipePatienceMs / 1000));
        return file_error(path, "write");
    }
    const std::string temporary = fmt::format("{}.{}.tmp", target, ::getpid());
    const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return file_error(path, "write");
    if (exists)
        ::fchmod(fd, info.st_mode & 07777);
    if (!write_and_close(fd, content) || ::rename(temporary.c_str(), target.c_str()) != 0) {
        auto failed = file_error(path, "write");
        ::unlink(temporary.c_str());
        return failed;
    }
    return ok();
}

std::string installed_path(std::string_view relative) {
    std::error_code ignored;
    const auto program = std::filesystem::read_symlink("/proc/self/exe", ignored);
    return (program.parent_path().parent_path() / relative).lexically_normal().string();
}

Diagnostic no_such_file(const std::string& path) {
    namespace fs = std::filesystem;
    constexpr std::size_t kMostLookedAt = 10'000;
    Diagnostic missing =
        error("EGPU-X020", fmt::format("{}: no such file{}", path, path.ends_with(".so") ? " (not built?)" : ""));
    const std::string name = fs::path(path).filename().string();
    const fs::path folder = fs::path(path).parent_path();
    const std::string ending = name.substr(std::min(name.find('.'), name.size()));
    std::vector<std::string> candidates;
    std::error_code failed;
    for (fs::directory_iterator entry(folder.empty() ? fs::path(".") : folder, failed), end;
         !failed && entry != end && candidates.size() < kMostLookedAt; entry.increment(failed))
        if (entry->path().filename().string().ends_with(ending))
            candidates.push_back(entry->path().filename().string());
    std::sort(candidates.begin(), candidates.end());  // of several that are as near, always the same
    if (const std::string near = nearest(name, candidates); !near.empty())
        missing.hints.push_back(fmt::format("did you mean '{}'?", (folder / near).string()));
    return missing;
}

}  // namespace egpu
