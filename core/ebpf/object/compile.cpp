// SPDX-License-Identifier: Apache-2.0
// Runs clang on a .bpf.c. No shell is involved: the path and the folder are arguments of their own.
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>

#include "base/child_output.hpp"
#include "base/files.hpp"
#include "ebpf/object/clang_messages.hpp"
#include "ebpf/object/object.hpp"

extern char** environ;

namespace egpu::ebpf {
namespace {

constexpr std::size_t kOutputLimit = std::size_t{64} << 10;  // of the compiler's messages
constexpr std::size_t kObjectLimit = std::size_t{64} << 20;
constexpr std::chrono::seconds kPatience{120};
/// Distributions that have no plain `clang` have one with its version; all of these know the bpf target.
constexpr std::array kCompilers{"clang", "clang-19", "clang-18", "clang-17", "clang-16", "clang-15", "clang-14"};

#if defined(__x86_64__)
constexpr const char* kMachineMacro = "-D__TARGET_ARCH_x86";
constexpr const char* kMachineHeaders = "/usr/include/x86_64-linux-gnu";
#elif defined(__aarch64__)
constexpr const char* kMachineMacro = "-D__TARGET_ARCH_arm64";
constexpr const char* kMachineHeaders = "/usr/include/aarch64-linux-gnu";
#else
constexpr const char* kMachineMacro = "-DEGPU_TARGET_ARCH_UNKNOWN";
constexpr const char* kMachineHeaders = "/usr/include";
#endif

/// A program on PATH; "" where there is none.
std::string find_on_path(const std::string& name) {
    if (name.find('/') != std::string::npos)
        return ::access(name.c_str(), X_OK) == 0 ? name : "";
    const char* path = std::getenv("PATH");
    std::string_view rest = path == nullptr ? "/usr/bin:/bin" : path;
    while (!rest.empty()) {
        const auto end = rest.find(':');
        const std::filesystem::path candidate = std::filesystem::path(rest.substr(0, end)) / name;
        std::error_code ignored;
        if (std::filesystem::is_regular_file(candidate, ignored) && ::access(candidate.c_str(), X_OK) == 0)
            return candidate;
        rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    }
    return "";
}

}  // namespace

Result<std::string> find_clang() {
    if (const char* chosen = std::getenv("EGPU_CLANG"); chosen != nullptr && *chosen != '\0') {
        const auto found = find_on_path(chosen);
        return found.empty() ? Result<std::string>(
                                   error("EGPU-B060", fmt::format("EGPU_CLANG is '{}', which can't be run", chosen)))
                             : Result<std::string>(found);
    }
    for (const char* name : kCompilers)
        if (auto found = find_on_path(name); !found.empty())
            return found;
    return error("EGPU-B060", "compiling a .bpf.c needs clang, and none is on PATH",
                 "apt install clang, set EGPU_CLANG, or pass an object (.bpf.o) that was compiled elsewhere");
}

namespace {

/// A folder of our own for the output, removed with all that is in it.
class ScratchFolder {
public:
    ScratchFolder() {
        const char* base = std::getenv("TMPDIR");
        path_ = fmt::format("{}/egpu-XXXXXX", base == nullptr || *base == '\0' ? "/tmp" : base);
        made_ = ::mkdtemp(path_.data()) != nullptr;
    }
    ~ScratchFolder() {
        std::error_code ignored;
        if (made_)
            std::filesystem::remove_all(path_, ignored);
    }
    ScratchFolder(const ScratchFolder&) = delete;
    ScratchFolder& operator=(const ScratchFolder&) = delete;
    bool made() const { return made_; }
    std::string file(std::string_view name) const { return fmt::format("{}/{}", path_, name); }

private:
    std::string path_;
    bool made_ = false;
};

struct Outcome {
    bool started = false, timed_out = false;
    int status = 0;
    std::string output;
};

/// Reads the child's messages until it closes them; a child past its time is killed.
void collect(int from, pid_t child, Outcome& outcome) {
    auto messages = read_child(from, kPatience, kOutputLimit);
    outcome.output = std::move(messages.text);
    outcome.timed_out = messages.timed_out;
    if (outcome.timed_out)
        ::kill(child, SIGKILL);
}

Outcome run(const std::vector<std::string>& arguments) {
    Outcome outcome;
    std::array<int, 2> pipe_ends{};
    if (::pipe2(pipe_ends.data(), O_CLOEXEC) != 0)
        return outcome;
    std::vector<char*> argv;
    for (const auto& argument : arguments)
        argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDERR_FILENO);
    pid_t child = 0;
    outcome.started = ::posix_spawn(&child, argv[0], &actions, nullptr, argv.data(), environ) == 0;
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(pipe_ends[1]);
    if (outcome.started) {
        collect(pipe_ends[0], child, outcome);
        while (::waitpid(child, &outcome.status, 0) < 0 && errno == EINTR) {
        }
    }
    ::close(pipe_ends[0]);
    return outcome;
}

}  // namespace

Result<std::vector<std::byte>> compile_source(const std::string& path, const std::string& include_folder,
                                              std::vector<Diagnostic>* warnings) {
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(path, ignored))
        return error("EGPU-X001", fmt::format("{} is not a regular file", path));
    auto clang = find_clang();
    if (!clang)
        return clang.errors();
    const ScratchFolder scratch;
    if (!scratch.made())
        return error("EGPU-B062",
                     fmt::format("can't make a folder for the compiler's output: {}", std::strerror(errno)),
                     "set TMPDIR to a folder that can be written");
    const std::string object = scratch.file("program.bpf.o");
    // A name that begins with '-' would be taken for an option.
    const std::string source = path.starts_with('-') ? "./" + path : path;
    std::vector<std::string> arguments{*clang,
                                       "-target",
                                       "bpf",
                                       "-g",
                                       "-O2",
                                       "-Wall",
                                       "-fno-color-diagnostics",
                                       "-fno-crash-diagnostics",  // else it leaves files behind
                                       kMachineMacro,
                                       "-I" + include_folder,
                                       "-idirafter",
                                       kMachineHeaders,
                                       "-c",
                                       source,
                                       "-o",
                                       object};
    const auto outcome = run(arguments);
    if (!outcome.started)
        return error("EGPU-B060", fmt::format("can't run {}", *clang));
    if (outcome.timed_out)
        return error("EGPU-B062",
                     fmt::format("{} took longer than {} s on {} and was ended", *clang, kPatience.count(), path));
    if (!WIFEXITED(outcome.status) || WEXITSTATUS(outcome.status) != 0)
        return clang_errors(path, outcome.output);
    if (warnings != nullptr)
        *warnings = clang_warnings(outcome.output);
    return read_file(object, kObjectLimit);
}

}  // namespace egpu::ebpf
