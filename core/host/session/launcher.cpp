// SPDX-License-Identifier: Apache-2.0
#include "host/session/launcher.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

namespace egpu::host {
namespace {

std::string preload_value(const std::vector<std::string>& ours) {
    std::string value = fmt::format("{}", fmt::join(ours, ":"));
    if (const char* theirs = std::getenv("LD_PRELOAD"); theirs != nullptr && *theirs != 0)
        value += ":" + std::string(theirs);
    return value;
}

std::vector<std::string> environment_of(const LaunchPlan& plan) {
    std::vector<std::pair<std::string, std::string>> ours = plan.environment;
    if (!plan.preload.empty())
        ours.emplace_back("LD_PRELOAD", preload_value(plan.preload));
    std::vector<std::string> all;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string_view text(*entry);
        const auto name = text.substr(0, text.find('='));
        bool replaced = false;
        for (const auto& [key, value] : ours)
            replaced = replaced || name == key;
        if (!replaced)
            all.emplace_back(text);
    }
    for (const auto& [key, value] : ours)
        all.push_back(key + "=" + value);
    return all;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> result;
    for (auto& text : texts)
        result.push_back(text.data());
    result.push_back(nullptr);
    return result;
}

/// In the child: signals as a program expects to find them, then the program. Writes errno to the pipe where it can't.
[[noreturn]] void become(char* const* arguments, char* const* environment, const Inheritance& inheritance,
                         int failure) {
    ::signal(SIGPIPE, inheritance.ignores_pipe ? SIG_IGN : SIG_DFL);
    ::signal(SIGXFSZ, inheritance.ignores_file_size ? SIG_IGN : SIG_DFL);
    if (inheritance.standard_output >= 0)
        ::dup2(inheritance.standard_output, STDOUT_FILENO);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::execvpe(arguments[0], arguments, environment);
    const int code = errno;
    [[maybe_unused]] const ssize_t told = ::write(failure, &code, sizeof code);
    ::_exit(kNotFound);
}

}  // namespace

Result<pid_t> start_program(const LaunchPlan& plan, int* failure_code) {
    *failure_code = kCannot;
    auto command = plan.command;
    auto environment = environment_of(plan);
    const auto arguments = pointers(command);
    const auto variables = pointers(environment);
    int failure[2];
    if (::pipe2(failure, O_CLOEXEC) != 0)
        return error("EGPU-X030", fmt::format("cannot start {}: {}", plan.command[0], std::strerror(errno)));
    const pid_t child = ::fork();
    if (child == 0)
        become(arguments.data(), variables.data(), plan.inheritance, failure[1]);
    const int fork_errno = errno;
    ::close(failure[1]);
    if (child < 0) {
        ::close(failure[0]);
        return error("EGPU-X030", fmt::format("cannot start {}: {}", plan.command[0], std::strerror(fork_errno)));
    }
    int code = 0;
    ssize_t got = 0;
    do
        got = ::read(failure[0], &code, sizeof code);
    while (got < 0 && errno == EINTR);
    ::close(failure[0]);
    if (got != sizeof code)
        return child;  // exec closed the pipe
    ::waitpid(child, nullptr, 0);
    *failure_code = code == ENOENT ? kNotFound : kNotExecutable;
    auto failed = error("EGPU-X031", fmt::format("cannot run {}: {}", plan.command[0], std::strerror(code)));
    if (code == ENOENT && plan.command[0].find('/') == std::string::npos)
        failed.hints.push_back("it is not on PATH; for a program in this folder write ./" + plan.command[0]);
    return failed;
}

Ending ending_of(int status) {
    Ending ending;
    if (WIFSIGNALED(status))
        ending.signal = WTERMSIG(status);
    else
        ending.exit_code = WEXITSTATUS(status);
    return ending;
}

}  // namespace egpu::host
