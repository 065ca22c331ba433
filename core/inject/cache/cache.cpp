// SPDX-License-Identifier: Apache-2.0
#include "inject/cache/cache.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include <fmt/format.h>

#include "base/files.hpp"
#include "base/version.hpp"
#include "inject/cache/entry.hpp"

namespace egpu::inject {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kEntryLimit = std::size_t{1} << 30;
constexpr const char* kTemporary = "tmp-";
/// Older ones were left behind by a process that was killed while it wrote.
constexpr auto kTemporaryAge = std::chrono::hours(1);

/// Ours alone: what somebody else could write is not loaded into a GPU.
std::string why_not_ours(const std::string& folder) {
    struct stat info {};
    if (::lstat(folder.c_str(), &info) != 0)
        return fmt::format("{}: {}", folder, std::strerror(errno));
    if (!S_ISDIR(info.st_mode))
        return fmt::format("{} is no folder", folder);
    if (info.st_uid != ::geteuid())
        return fmt::format("{} belongs to another user", folder);
    if ((info.st_mode & 0022) != 0)
        return fmt::format("others may write to {}", folder);
    return {};
}

bool make_private(const std::string& folder) {
    return ::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST;
}

struct Entry {
    std::string path;
    std::uint64_t bytes = 0;
    timespec used{};
};

/// Every entry below `root`; left-over temporary files are removed on the way.
std::vector<Entry> entries_of(const std::string& root, bool clean) {
    std::vector<Entry> entries;
    std::error_code failed;
    for (fs::recursive_directory_iterator at(root, fs::directory_options::skip_permission_denied, failed), end;
         !failed && at != end; at.increment(failed)) {
        struct stat info {};
        if (::lstat(at->path().c_str(), &info) != 0 || !S_ISREG(info.st_mode))
            continue;
        const std::string name = at->path().filename();
        const auto age = std::chrono::system_clock::now() - std::chrono::system_clock::from_time_t(info.st_mtime);
        if (name.starts_with(kTemporary)) {
            if (clean && age > kTemporaryAge)
                ::unlink(at->path().c_str());
        } else if (at.depth() == 1) {
            entries.push_back({at->path(), static_cast<std::uint64_t>(info.st_size), info.st_mtim});
        }
    }
    return entries;
}

std::uint64_t sum_of(const std::vector<Entry>& entries) {
    std::uint64_t sum = 0;
    for (const auto& entry : entries)
        sum += entry.bytes;
    return sum;
}

bool write_whole(int fd, const std::vector<std::byte>& bytes) {
    for (std::size_t done = 0; done < bytes.size();) {
        const ssize_t wrote = ::write(fd, bytes.data() + done, bytes.size() - done);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return false;
        done += static_cast<std::size_t>(wrote);
    }
    return true;
}

/// Two numbers in text, changed under a lock.
struct Statistics {
    std::uint64_t hits = 0, misses = 0;
};

Statistics read_statistics(int fd) {
    char text[64] = {};
    Statistics statistics;
    if (::pread(fd, text, sizeof text - 1, 0) > 0) {
        unsigned long long hits = 0, misses = 0;
        if (std::sscanf(text, "%llu %llu", &hits, &misses) == 2)
            statistics = {hits, misses};
    }
    return statistics;
}

}  // namespace

CompileCache::CompileCache(CacheSettings settings) : settings_(std::move(settings)), problem_(settings_.off_because) {
    if (settings_.folder.empty())
        return;
    root_ = settings_.folder + "/v1";
    writable_ = true;
    if (::access(root_.c_str(), F_OK) == 0)
        check_folders();
}

/// Nothing is made before there is something to keep.
bool CompileCache::make_folders() {
    const std::lock_guard lock(mutex_);
    if (readable_ || !writable_)
        return writable_;
    std::error_code failed;
    fs::create_directories(fs::path(settings_.folder).parent_path(), failed);
    if (!make_private(settings_.folder) || !make_private(root_))
        give_up(fmt::format("can't make {}: {}", root_, std::strerror(errno)));
    else
        check_folders();
    return writable_;
}

void CompileCache::check_folders() {
    for (const auto& folder : {settings_.folder, root_})
        if (auto why = why_not_ours(folder); !why.empty())
            return give_up(why);
    readable_ = true;
}

CompileCache::~CompileCache() {
    add_to_statistics();
}

Sha256Digest CompileCache::key_of(const Compiler& compiler, const std::string& ptx, const std::string& entry,
                                  const CompileOptions& options) {
    Sha256 sum;
    // Each part with its length: no two lists of parts give the same bytes.
    const auto add = [&sum](std::string_view part) {
        sum.add(fmt::format("{}:", part.size()));
        sum.add(part);
    };
    add(version());
    add(compiler.kind == Compiler::Kind::ptxas ? "ptxas" : "driver");
    add(compiler.identity);
    add(options.architecture);
    sum.add(fmt::format("{} options:", options.options.size()));
    for (const auto& option : options.options)
        add(option);
    add(entry);
    add(ptx);
    return sum.finish();
}

std::string CompileCache::path_of(const Sha256Digest& key) const {
    const std::string name = to_hex(key);
    return fmt::format("{}/{}/{}", root_, name.substr(0, 2), name);
}

std::optional<Compiled> CompileCache::find(const Sha256Digest& key) {
    if (settings_.folder.empty())
        return std::nullopt;
    const std::string path = path_of(key);
    const auto bytes =
        readable_ ? read_file(path, kEntryLimit) : Result<std::vector<std::byte>>(std::vector<std::byte>());
    auto found = bytes ? from_entry(key, *bytes) : std::nullopt;
    if (!found) {
        ++misses_;
        return std::nullopt;
    }
    ++hits_;
    ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
    return found;
}

void CompileCache::store(const Sha256Digest& key, const Compiled& compiled) {
    const auto bytes = to_entry(key, compiled);
    if (bytes.size() > settings_.limit || !make_folders())
        return;
    const std::lock_guard lock(mutex_);
    const std::string path = path_of(key);
    const std::string folder = path.substr(0, path.rfind('/'));
    if (!make_private(folder))
        return give_up(fmt::format("can't make {}: {}", folder, std::strerror(errno)));
    static std::atomic<std::uint64_t> number{0};  // a process may have several caches
    const std::string temporary = fmt::format("{}/{}{}-{}", folder, kTemporary, ::getpid(), number++);
    const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return give_up(fmt::format("can't write to {}: {}", folder, std::strerror(errno)));
    const bool wrote = write_whole(fd, bytes);
    const int why = errno;
    ::close(fd);
    if (!wrote || ::rename(temporary.c_str(), path.c_str()) != 0) {
        const int code = wrote ? errno : why;
        ::unlink(temporary.c_str());
        return give_up(fmt::format("can't write to {}: {}", folder, std::strerror(code)));
    }
    used_ = used_ ? *used_ + bytes.size() : sum_of(entries_of(root_, true));
    if (*used_ > settings_.limit)
        evict();
}

/// Least recently used first, down to nine tenths, so that not every store looks at all files. Another process may do
/// the same at the same time: a file that is gone is no error, one that is read while it goes stays readable.
void CompileCache::evict() {
    auto entries = entries_of(root_, true);
    std::uint64_t sum = sum_of(entries);
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
        return std::pair(a.used.tv_sec, a.used.tv_nsec) < std::pair(b.used.tv_sec, b.used.tv_nsec);
    });
    const std::uint64_t goal = settings_.limit - settings_.limit / 10;
    for (const auto& entry : entries) {
        if (sum <= goal)
            break;
        ::unlink(entry.path.c_str());
        sum -= entry.bytes;
    }
    used_ = sum;
}

void CompileCache::give_up(const std::string& why) {
    writable_ = false;
    if (problem_.empty())
        problem_ = why;
}

std::string CompileCache::problem() const {
    const std::lock_guard lock(mutex_);
    return problem_;
}

void CompileCache::add_to_statistics() const {
    if (!writable_ || !readable_ || (hits_ == 0 && misses_ == 0))
        return;
    const int fd =
        ::open((root_ + "/statistics").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (fd < 0)
        return;
    // Held by nobody for longer than this takes.
    if (::flock(fd, LOCK_EX) == 0) {
        const auto before = read_statistics(fd);
        const std::string text = fmt::format("{} {}\n", before.hits + hits_.load(), before.misses + misses_.load());
        if (::pwrite(fd, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()))
            static_cast<void>(::ftruncate(fd, static_cast<off_t>(text.size())) == 0);
    }
    ::close(fd);
}

CacheUse CompileCache::use() const {
    CacheUse use;
    if (!readable_)
        return use;
    const auto entries = entries_of(root_, false);
    use.entries = entries.size();
    use.bytes = sum_of(entries);
    if (const int fd = ::open((root_ + "/statistics").c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        fd >= 0) {
        const auto statistics = read_statistics(fd);
        use.hits = statistics.hits;
        use.misses = statistics.misses;
        ::close(fd);
    }
    return use;
}

}  // namespace egpu::inject
