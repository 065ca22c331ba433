// SPDX-License-Identifier: Apache-2.0
#include "inject/cache/cache.hpp"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace egpu::inject {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class Cache : public ::testing::Test {
protected:
    void SetUp() override {
        folder_ = fs::temp_directory_path() / ("egpu-cache-test-" + std::to_string(getpid()));
        fs::remove_all(folder_);
        fs::create_directories(folder_);
    }
    void TearDown() override {
        for (const char* name : {"EGPU_CACHE", "EGPU_CACHE_DIR", "EGPU_CACHE_SIZE", "XDG_CACHE_HOME"})
            unsetenv(name);
        fs::remove_all(folder_);
    }
    CacheSettings settings(std::uint64_t limit = kDefaultCacheBytes) const {
        return {(folder_ / "cache").string(), limit, {}};
    }
    /// A key and what belongs to it, by number.
    static Sha256Digest key(int number) {
        return CompileCache::key_of({}, std::to_string(number), "k", {"sm_90", {}, 1});
    }
    static Compiled compiled(int number, std::size_t bytes = 1000) {
        Compiled made;
        made.cubin.assign(bytes, static_cast<std::byte>(number));
        made.registers = static_cast<std::uint32_t>(number);
        made.spill_bytes = 2;
        made.stack_bytes = 3;
        made.static_shared_bytes = 4;
        made.messages = "ptxas info    : (C7510) advice";
        return made;
    }
    std::vector<fs::path> files() const {
        std::vector<fs::path> found;
        for (const auto& entry : fs::recursive_directory_iterator(folder_ / "cache"))
            if (entry.is_regular_file() && entry.path().filename() != "statistics")
                found.push_back(entry.path());
        return found;
    }
    fs::path folder_;
};

TEST_F(Cache, GivesBackWhatWasStoredAlsoToAnother) {
    CompileCache(settings()).store(key(7), compiled(7));
    CompileCache other(settings());
    const auto found = other.find(key(7));
    ASSERT_TRUE(found);
    EXPECT_EQ(found->cubin, compiled(7).cubin);
    EXPECT_EQ(found->registers, 7u);
    EXPECT_EQ(found->spill_bytes, 2u);
    EXPECT_EQ(found->stack_bytes, 3u);
    EXPECT_EQ(found->static_shared_bytes, 4u);
    EXPECT_EQ(found->messages, compiled(7).messages);
    EXPECT_FALSE(other.find(key(8)));
    EXPECT_EQ(other.problem(), "");
    struct stat info {};
    ASSERT_EQ(::stat(settings().folder.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0700u);
}

TEST_F(Cache, KeysDifferInEverythingThatCounts) {
    Compiler ptxas, driver;
    driver.kind = Compiler::Kind::driver;
    Compiler newer = ptxas;
    newer.identity = "13.1";
    const CompileOptions plain{"sm_90", {}, 1};
    const std::vector<Sha256Digest> keys = {
        CompileCache::key_of(ptxas, "text", "k", plain),
        CompileCache::key_of(ptxas, "texu", "k", plain),
        CompileCache::key_of(ptxas, "text", "l", plain),
        CompileCache::key_of(ptxas, "tex", "tk", plain),
        CompileCache::key_of(driver, "text", "k", plain),
        CompileCache::key_of(newer, "text", "k", plain),
        CompileCache::key_of(ptxas, "text", "k", {"sm_80", {}, 1}),
        CompileCache::key_of(ptxas, "text", "k", {"sm_90", {"a"}, 1}),
        CompileCache::key_of(ptxas, "text", "k", {"sm_90", {"a", "b"}, 1}),
        CompileCache::key_of(ptxas, "text", "k", {"sm_90", {"ab"}, 1}),
    };
    EXPECT_EQ(std::set<Sha256Digest>(keys.begin(), keys.end()).size(), keys.size());
    EXPECT_EQ(CompileCache::key_of(ptxas, "text", "k", {"sm_90", {}, 99}),
              keys[0]);  // how long one waits does not count
}

TEST_F(Cache, NothingIsMadeBeforeThereIsSomethingToKeep) {
    CompileCache cache(settings());
    EXPECT_FALSE(cache.find(key(1)));
    EXPECT_EQ(cache.use().entries, 0u);
    EXPECT_FALSE(fs::exists(folder_ / "cache"));
}

TEST_F(Cache, DamagedEntriesAreAsIfTheyWereNotThereAndAreWrittenAgain) {
    CompileCache cache(settings());
    cache.store(key(1), compiled(1));
    const auto path = files().at(0);
    const auto size = fs::file_size(path);
    for (std::size_t at = 0; at < size; at += 13) {
        cache.store(key(1), compiled(1));
        std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
        file.seekg(static_cast<std::streamoff>(at));
        const char byte = static_cast<char>(file.get() ^ 0x40);
        file.seekp(static_cast<std::streamoff>(at));
        file.put(byte);
        file.close();
        EXPECT_FALSE(cache.find(key(1))) << "byte " << at;
    }
    for (const std::uintmax_t length : {std::uintmax_t{0}, std::uintmax_t{40}, std::uintmax_t{100}, size - 1}) {
        cache.store(key(1), compiled(1));
        fs::resize_file(path, length);
        EXPECT_FALSE(cache.find(key(1))) << length << " bytes";
    }
    cache.store(key(1), compiled(1));
    EXPECT_TRUE(cache.find(key(1)));
    // Another key's entry under this name is no entry.
    cache.store(key(2), compiled(2));
    for (const auto& file : files())
        if (file != path)
            fs::copy_file(file, path, fs::copy_options::overwrite_existing);
    EXPECT_FALSE(cache.find(key(1)));
}

TEST_F(Cache, APipeInTheFolderIsNotWaitedFor) {
    CompileCache cache(settings());
    cache.store(key(1), compiled(1));
    const auto path = files().at(0);
    fs::remove(path);
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    ASSERT_EQ(::mkfifo((folder_ / "cache" / "v1" / "statistics").c_str(), 0600), 0);
    EXPECT_FALSE(cache.find(key(1)));
    EXPECT_EQ(cache.use().entries, 0u);
}

TEST_F(Cache, TheLeastRecentlyUsedGoFirst) {
    CompileCache cache(settings(20'000));
    for (int i = 0; i < 10; ++i) {
        cache.store(key(i), compiled(i));
        usleep(2000);  // their order is that of the file system's clock
    }
    ASSERT_TRUE(cache.find(key(0)));  // used now
    usleep(20000);
    for (int i = 10; i < 30; ++i)
        cache.store(key(i), compiled(i));
    EXPECT_LE(cache.use().bytes, 20'000u);
    EXPECT_GT(cache.use().entries, 5u);
    EXPECT_FALSE(cache.find(key(1)));
    EXPECT_TRUE(cache.find(key(29)));
    cache.store(key(100), compiled(100, 30'000));  // larger than all there is
    EXPECT_FALSE(cache.find(key(100)));
}

TEST_F(Cache, UsedOnesOutliveOthers) {
    CompileCache cache(settings(20'000));
    for (int i = 0; i < 60; ++i) {
        cache.store(key(i), compiled(i));
        ASSERT_TRUE(cache.find(key(0))) << i;
        usleep(10000);
    }
}

TEST_F(Cache, ManyProcessesAtOnce) {
    constexpr int kProcesses = 6, kRounds = 60, kKeys = 8;
    std::vector<pid_t> children;
    for (int process = 0; process < kProcesses; ++process) {
        const pid_t child = fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            bool good = true;
            {
                CompileCache cache(settings(6'000));  // evicts all the time
                for (int i = 0; i < kRounds; ++i) {
                    const int number = (i * 5 + process) % kKeys;
                    if (const auto found = cache.find(key(number)))
                        good = good && found->cubin == compiled(number).cubin;
                    else
                        cache.store(key(number), compiled(number));
                }
                good = good && cache.problem().empty();
            }
            _exit(good ? 0 : 1);
        }
        children.push_back(child);
    }
    for (const pid_t child : children) {
        int status = 0;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        EXPECT_EQ(status, 0);
    }
    const auto use = CompileCache(settings()).use();
    EXPECT_EQ(use.hits + use.misses, static_cast<std::uint64_t>(kProcesses * kRounds));
    for (const auto& file : files())
        EXPECT_THAT(file.filename().string(), ::testing::Not(::testing::StartsWith("tmp-")));
}

TEST_F(Cache, AFullDiskIsSaidAndNothingElse) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        signal(SIGXFSZ, SIG_IGN);
        const rlimit small{500, 500};
        setrlimit(RLIMIT_FSIZE, &small);
        CompileCache cache(settings());
        cache.store(key(1), compiled(1));
        _exit(!cache.find(key(1)) && cache.problem().find("can't write") != std::string::npos && files().empty() ? 0
                                                                                                                 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

TEST_F(Cache, AFolderThatCantBeMadeOrIsNotOursIsNotUsed) {
    std::ofstream(folder_ / "cache") << "a file";
    CompileCache blocked(settings());
    blocked.store(key(1), compiled(1));
    EXPECT_NE(blocked.problem(), "");
    EXPECT_FALSE(blocked.find(key(1)));
    fs::remove(folder_ / "cache");

    CompileCache(settings()).store(key(1), compiled(1));
    ::chmod(settings().folder.c_str(), 0777);
    CompileCache open(settings());
    EXPECT_THAT(open.problem(), HasSubstr("others may write"));
    EXPECT_FALSE(open.find(key(1)));
    ::chmod(settings().folder.c_str(), 0700);
    if (::geteuid() == 0) {
        ASSERT_EQ(::chown(settings().folder.c_str(), 12345, 12345), 0);
        CompileCache theirs(settings());
        EXPECT_THAT(theirs.problem(), HasSubstr("belongs to another user"));
        EXPECT_FALSE(theirs.find(key(1)));
    }
}

TEST_F(Cache, SettingsFollowTheEnvironment) {
    setenv("XDG_CACHE_HOME", folder_.c_str(), 1);
    EXPECT_EQ(cache_settings().folder, folder_.string() + "/egpu");
    EXPECT_EQ(cache_settings().limit, kDefaultCacheBytes);
    setenv("EGPU_CACHE_DIR", "/somewhere/else", 1);
    setenv("EGPU_CACHE_SIZE", "3M", 1);
    EXPECT_EQ(cache_settings().folder, "/somewhere/else");
    EXPECT_EQ(cache_settings().limit, 3u << 20);
    for (const char* wrong : {"x", "3 M", "-1", "99999999999999999999G", "0"}) {
        setenv("EGPU_CACHE_SIZE", wrong, 1);
        EXPECT_EQ(cache_settings().folder, "") << wrong;
        EXPECT_THAT(cache_settings().off_because, HasSubstr(wrong));
    }
    unsetenv("EGPU_CACHE_SIZE");
    setenv("EGPU_CACHE_DIR", "relative", 1);
    EXPECT_EQ(cache_settings().folder, "");
    for (const char* off : {"0", "off"}) {
        setenv("EGPU_CACHE", off, 1);
        EXPECT_EQ(cache_settings().folder, "");
        CompileCache cache(cache_settings());
        cache.store(key(1), compiled(1));
        EXPECT_FALSE(cache.find(key(1)));
    }
}

TEST_F(Cache, AnotherUsersHomeIsNotTouched) {
    if (::geteuid() != 0)
        GTEST_SKIP() << "takes another user's folder";
    const std::string before = std::getenv("HOME") != nullptr ? std::getenv("HOME") : "";
    ASSERT_EQ(::chown(folder_.c_str(), 12345, 12345), 0);
    setenv("XDG_CACHE_HOME", folder_.c_str(), 1);
    setenv("HOME", folder_.c_str(), 1);  // as sudo leaves it
    EXPECT_THAT(cache_settings().folder, ::testing::Not(HasSubstr(folder_.string())));
    setenv("HOME", before.c_str(), 1);
}

}  // namespace
}  // namespace egpu::inject
