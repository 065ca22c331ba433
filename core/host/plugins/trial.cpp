// SPDX-License-Identifier: Apache-2.0
#include "host/plugins/trial.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <map>
#include <mutex>
#include <thread>
#include <tuple>

#include <fmt/format.h>

#include "base/child_output.hpp"

extern char** environ;

namespace egpu::host {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostSteps = 16384;

/// The egpu program: this one, or the one beside it.
std::string egpu_program() {
    std::error_code failed;
    const fs::path self = fs::read_symlink("/proc/self/exe", failed);
    for (const auto& candidate : {self.parent_path() / "egpu", self.parent_path().parent_path() / "bin" / "egpu"})
        if (::access(candidate.c_str(), X_OK) == 0)
            return candidate.string();
    return "";
}

struct Outcome {
    bool started = false, timed_out = false;
    int status = 0;
    std::string text;  ///< the steps, a line each
};

bool is_done(std::string_view text) {
    return text.ends_with("done\n");
}

/// Reads the steps until the process ends or its time is over; then it is gone with all that it started.
void follow(int from, pid_t child, std::chrono::milliseconds limit, Outcome& outcome) {
    // What was said last is known before the process ends; its end may be held up by what the plugin left behind.
    auto steps = read_child(from, limit, kMostSteps, is_done);
    outcome.text = std::move(steps.text);
    outcome.timed_out = steps.timed_out;
    if (outcome.timed_out || is_done(outcome.text))
        ::kill(-child, SIGKILL);
}

Outcome run_trial(const std::string& path, const Trial& trial) {
    Outcome outcome;
    const std::string program = egpu_program();
    std::array<int, 2> ends{};
    if (program.empty() || ::pipe2(ends.data(), O_CLOEXEC) != 0)
        return outcome;
    std::vector<std::string> words = {program, kTrialCommand, path};
    if (trial.call)
        words.emplace_back("--call");
    std::vector<char*> argv;
    for (auto& word : words)
        argv.push_back(word.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (trial.show_output) {
        ::posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    } else {
        ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
        ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    }
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], kTrialPipe);
    posix_spawnattr_t attributes;
    ::posix_spawnattr_init(&attributes);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    pid_t child = 0;
    outcome.started = ::posix_spawn(&child, argv[0], &actions, &attributes, argv.data(), environ) == 0;
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
    ::close(ends[1]);
    if (outcome.started) {
        follow(ends[0], child, trial.limit, outcome);
        while (::waitpid(child, &outcome.status, 0) < 0 && errno == EINTR) {
        }
    }
    ::close(ends[0]);
    return outcome;
}

/// What it was doing: the last step that it named.
std::string doing(const std::string& text) {
    const auto last = text.rfind("step: ");
    return last == std::string::npos ? "while it was loaded" : text.substr(last + 6, text.find('\n', last) - last - 6);
}

void judge(const Outcome& outcome, const Trial& trial, PluginFile& file) {
    const auto fail = [&](PluginState state, std::string reason, std::string hint) {
        file.state = state;
        file.reason = std::move(reason);
        file.hint = std::move(hint);
    };
    if (!outcome.started)
        return fail(PluginState::cannot_open, "it can't be tried: the egpu program was not found beside this one", "");
    for (const auto& [word, state, hint] :
         {std::tuple{"load: ", PluginState::cannot_open, "link it with what it uses: -Wl,--no-undefined says at build"},
          std::tuple{"globals: ", PluginState::init_failed, "what the constructor of a global variable threw"},
          std::tuple{"start: ", PluginState::init_failed, "what the class's constructor threw"},
          std::tuple{"call: ", PluginState::call_failed, "the check calls on_snapshot with the object's maps, empty"}})
        if (const auto at = outcome.text.find(std::string("failed ") + word); at != std::string::npos) {
            std::string reason = outcome.text.substr(at + 7 + std::string_view(word).size());
            reason = reason.substr(0, reason.find("\ndone\n"));
            return fail(state, reason, hint);
        }
    if (outcome.timed_out)
        return fail(PluginState::blocked,
                    fmt::format("did not come back within {} s, {}", static_cast<double>(trial.limit.count()) / 1000,
                                doing(outcome.text)),
                    "do long work on a thread of your own, and nothing in static constructors");
    if (is_done(outcome.text))
        return;
    const std::string hint = trial.show_output ? fmt::format("gdb --args egpu {} {} {} shows where", kTrialCommand,
                                                             trial.call ? "--call" : "", file.path)
                                               : fmt::format("egpu plugin check {} shows what it prints", file.path);
    if (WIFSIGNALED(outcome.status))
        return fail(PluginState::crashed,
                    fmt::format("ended by signal {} ({}), {}", WTERMSIG(outcome.status),
                                ::strsignal(WTERMSIG(outcome.status)), doing(outcome.text)),
                    hint);
    fail(PluginState::crashed,
         fmt::format("ended the process with {}, {}", WEXITSTATUS(outcome.status), doing(outcome.text)), hint);
}

struct Known {
    fs::file_time_type written;
    std::uintmax_t bytes = 0;
    PluginFile file;
};

}  // namespace

PluginFile tried(PluginFile file, const Trial& trial) {
    if (!file.ok() || !file.about || !file.about->has_code)
        return file;
    static std::mutex mutex;  // of `known`, not held while a plugin is tried: several may be at a time
    static std::map<std::pair<std::string, bool>, Known> known;
    std::error_code failed;
    const auto written = fs::last_write_time(file.path, failed);
    const auto bytes = fs::file_size(file.path, failed);
    std::unique_lock lock(mutex);
    // What was called as well was started.
    for (const bool called : {trial.call, true}) {
        const auto found = known.find({file.path, called});
        if (found != known.end() && found->second.written == written && found->second.bytes == bytes &&
            (called == trial.call || found->second.file.ok()))
            return found->second.file;
    }
    lock.unlock();
    judge(run_trial(file.path, trial), trial, file);
    lock.lock();
    known[{file.path, trial.call}] = {written, bytes, file};
    return file;
}

std::vector<PluginFile> tried_together(std::vector<PluginFile> files) {
    constexpr std::size_t kMostAtOnce = 8;
    std::atomic<std::size_t> next{0};
    const auto work = [&] {
        for (std::size_t at = next++; at < files.size(); at = next++)
            files[at] = tried(std::move(files[at]));
    };
    std::vector<std::jthread> workers;
    for (std::size_t i = 0; i < std::min(kMostAtOnce, files.size()); ++i)
        workers.emplace_back(work);
    workers.clear();  // joins
    return files;
}

}  // namespace egpu::host
