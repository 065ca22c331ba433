// SPDX-License-Identifier: Apache-2.0
// What compilers gave, kept on disk: one file an entry, named by the digest of all that decided it.
//
// Layout: FOLDER/v1/ab/abcd... Each file is a header, the key, the figures, the messages and the cubin, under one
// SHA-256. Files are written under another name and renamed, so that any number of processes may read and write at the
// same time; what does not check out is as if it weren't there. A file's time of change is that of its last use.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "base/sha256.hpp"
#include "inject/compile/compile.hpp"

namespace egpu::inject {

inline constexpr std::uint64_t kDefaultCacheBytes = std::uint64_t{256} << 20;

struct CacheSettings {
    std::string folder;  ///< "": off
    std::uint64_t limit = kDefaultCacheBytes;
    std::string off_because;  ///< where it is off
    bool asked_off = false;   ///< by the user: nothing to warn of
};

/// EGPU_CACHE=0|off, EGPU_CACHE_DIR, EGPU_CACHE_SIZE ("64M"), XDG_CACHE_HOME/egpu, ~/.cache/egpu. A folder that belongs
/// to another user (sudo keeps HOME) is not used: the home of the password database is, else none.
CacheSettings cache_settings();

struct CacheUse {
    std::uint64_t entries = 0, bytes = 0;  ///< on disk
    std::uint64_t hits = 0, misses = 0;    ///< of all processes since the folder was made
};

/// Safe to use from several threads. Nothing it does can fail a session: where the disk is full or not ours, find()
/// gives nothing, store() does nothing, and problem() says why.
class CompileCache {
public:
    explicit CompileCache(CacheSettings settings);
    ~CompileCache();
    CompileCache(const CompileCache&) = delete;
    CompileCache& operator=(const CompileCache&) = delete;

    /// The key of one compilation: text, entry, options, compiler, this egpu.
    static Sha256Digest key_of(const Compiler& compiler, const std::string& ptx, const std::string& entry,
                               const CompileOptions& options);

    std::optional<Compiled> find(const Sha256Digest& key);
    void store(const Sha256Digest& key, const Compiled& compiled);

    const CacheSettings& settings() const { return settings_; }
    /// Why it is off or could not write; "" where it works.
    std::string problem() const;
    /// Counts files: for egpu doctor.
    CacheUse use() const;

private:
    // With the mutex held, or before anybody else can see the cache:
    void check_folders();
    void give_up(const std::string& why);
    void evict();
    bool make_folders();  ///< takes the mutex itself; false: nothing can be written
    void add_to_statistics() const;
    std::string path_of(const Sha256Digest& key) const;

    CacheSettings settings_;
    std::string root_;  ///< settings_.folder + "/v1"
    std::atomic<bool> readable_{false}, writable_{false};
    std::atomic<std::uint64_t> hits_{0}, misses_{0};
    mutable std::mutex mutex_;  ///< problem_, used_ and writing
    std::string problem_;
    std::optional<std::uint64_t> used_;  ///< bytes on disk as last counted, and what was written since
};

}  // namespace egpu::inject
