// SPDX-License-Identifier: Apache-2.0
#include "inject/compile/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

extern char** environ;

namespace egpu::inject {
namespace {

using Clock = std::chrono::steady_clock;

Diagnostic system_error(std::string_view what) {
    return error("EGPU-P301", fmt::format("{}: {}", what, std::strerror(errno)));
}

/// An open descriptor, closed at the end.
class Descriptor {
public:
    explicit Descriptor(int number) : number_(number) {}
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() { close(); }
    int number() const { return number_; }
    void close() {
        if (number_ >= 0)
            ::close(number_);
        number_ = -1;
    }

private:
    int number_;
};

/// Starts the child in a process group of its own, its output on `output`, no input.
Result<pid_t> start(const std::vector<std::string>& arguments, int output) {
    std::vector<char*> argv;
    for (const auto& argument : arguments)
        argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
    // Signals as a program expects them, whatever this process has blocked or ignored.
    sigset_t none, defaults;
    sigemptyset(&none);
    sigemptyset(&defaults);
    for (const int number : {SIGINT, SIGTERM, SIGQUIT, SIGHUP, SIGPIPE, SIGCHLD})
        sigaddset(&defaults, number);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    pid_t child = 0;
    const int failed = posix_spawn(&child, argv[0], &actions, &attributes, argv.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (failed != 0) {
        errno = failed;
        return system_error(fmt::format("can't start {}", arguments.front()));
    }
    return child;
}

/// How often a wait looks whether it is to stop.
constexpr std::int64_t kLookMs = 100;

/// Reads until the other end is closed, the time has come or a stop is asked for; true where it was closed.
bool read_until(int from, Clock::time_point end, const std::stop_token& stop, std::string& output) {
    char buffer[16384];
    for (;;) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
        if (left <= 0 || stop.stop_requested())
            return false;
        pollfd waiting{from, POLLIN, 0};
        const int ready = poll(&waiting, 1, static_cast<int>(std::min<std::int64_t>(left, kLookMs)));
        if (ready < 0 && errno != EINTR)
            return true;
        if (ready <= 0)
            continue;
        const ssize_t got = read(from, buffer, sizeof buffer);
        if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN))
            return true;
        // Past the limit the output is read and dropped, so that the child does not wait for us.
        if (got > 0 && output.size() < kOutputLimit)
            output.append(buffer, std::min(static_cast<std::size_t>(got), kOutputLimit - output.size()));
    }
}

/// Waits for the child until the time has come; false where it still runs.
bool wait_until(pid_t child, Clock::time_point end, int& status) {
    for (;;) {
        const pid_t ended = waitpid(child, &status, WNOHANG);
        if (ended == child || (ended < 0 && errno != EINTR))
            return true;
        if (Clock::now() >= end)
            return false;
        usleep(2000);
    }
}

}  // namespace

Result<Finished> run_process(const std::vector<std::string>& arguments, std::uint32_t timeout_seconds,
                             const std::stop_token& stop) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return system_error("can't make a pipe");
    Descriptor from(ends[0]), to(ends[1]);
    auto child = start(arguments, to.number());
    if (!child)
        return child.errors();
    to.close();
    Finished finished;
    const auto end = Clock::now() + std::chrono::seconds(timeout_seconds);
    int status = 0;
    if (!read_until(from.number(), end, stop, finished.output) || !wait_until(*child, end, status)) {
        finished.stopped = stop.stop_requested();
        finished.timed_out = !finished.stopped;
        kill(-*child, SIGKILL);
        while (waitpid(*child, &status, 0) < 0 && errno == EINTR) {
        }
    }
    finished.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    finished.exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return finished;
}

Result<PrivateFolder> PrivateFolder::make() {
    const char* base = std::getenv("TMPDIR");
    std::string path = fmt::format("{}/egpu-XXXXXX", base != nullptr && base[0] == '/' ? base : "/tmp");
    if (mkdtemp(path.data()) == nullptr)
        return system_error(fmt::format("can't make a folder like {}", path));
    return PrivateFolder(std::move(path));
}

PrivateFolder::PrivateFolder(PrivateFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})), files_(std::exchange(other.files_, {})) {}

PrivateFolder::~PrivateFolder() {
    if (path_.empty())
        return;
    for (const auto& file : files_)
        unlink(file.c_str());
    rmdir(path_.c_str());
}

std::string PrivateFolder::file(const std::string& name) {
    files_.push_back(fmt::format("{}/{}", path_, name));
    return files_.back();
}

}  // namespace egpu::inject
