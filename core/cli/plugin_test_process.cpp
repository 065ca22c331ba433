// SPDX-License-Identifier: Apache-2.0
#include "cli/plugin_test_process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "base/child_output.hpp"
#include "base/write_all.hpp"
#include "host/session/control_socket.hpp"
#include "host/session/launcher.hpp"
#include "segment/create/sessions.hpp"

namespace egpu::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kLook{50};           ///< between two looks whether the child is still there
constexpr milliseconds kAfterClosed{1000};  ///< files are closed before a process is gone
constexpr std::size_t kMostReported = std::size_t{1} << 20;
constexpr std::size_t kMostPrinted = 65536;
/// How a child ends that can't report: nothing else sends it.
constexpr int kReportLost = SIGUSR2;
constexpr const char* kFilesClosed = "it closed egpu's files";

/// No report holds this; without it a report is not whole.
constexpr char kEndOfReport = '\0';

bool is_whole(std::string_view report) {
    return report.ends_with(kEndOfReport);
}

std::string read_printed(int file) {
    std::string text(kMostPrinted, '\0');
    const ssize_t got = ::pread(file, text.data(), text.size(), 0);
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return text;
}

/// The plugin called exit(): destructors of what egpu's threads use may hang.
void leave_at_once(int code, void*) {
    ::_exit(code);
}

[[noreturn]] void be_the_case(const std::function<std::string()>& run, pid_t parent, int pipe, int output) {
    // Who ends the test means its case: the session passes this on to the application, and ends with it.
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != parent)
        ::_exit(0);
    ::dup2(output, STDOUT_FILENO);
    ::dup2(output, STDERR_FILENO);
    ::on_exit(leave_at_once, nullptr);
    const pid_t self = ::getpid();
    std::string report = run();
    if (::getpid() != self)
        ::_exit(0);  // a fork of the plugin's that came back from its call
    std::fflush(nullptr);
    std::erase(report, kEndOfReport);
    report.resize(std::min(report.size(), kMostReported - 1));
    report += kEndOfReport;
    if (write_all(pipe, report))
        ::_exit(0);
    sigset_t lost;
    ::sigemptyset(&lost);
    ::sigaddset(&lost, kReportLost);
    ::signal(kReportLost, SIG_DFL);
    ::pthread_sigmask(SIG_UNBLOCK, &lost, nullptr);
    ::raise(kReportLost);
    ::_exit(1);
}

bool is_gone(pid_t child) {
    siginfo_t info{};
    return ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == child;
}

struct Followed {
    std::string report;
    std::string cause;  ///< why it was ended, "" where it ended by itself
};

/// Until the report is there, the child is gone, or its time is over: a fork of the plugin's may keep the pipe open.
Followed follow(int pipe, pid_t child, std::chrono::seconds limit) {
    Followed seen;
    auto end = steady_clock::now() + limit;
    bool open = true;
    const auto read = [&] {
        const auto part = read_child(pipe, kLook, kMostReported - seen.report.size(), is_whole);
        seen.report += part.text;
        return part.timed_out;
    };
    while (true) {
        const bool gone = is_gone(child);  // before the read: what it wrote before its end is read, too
        if (!open) {
            std::this_thread::sleep_for(kLook);
        } else if (!read() && !is_whole(seen.report)) {
            open = false;
            end = std::min(end, steady_clock::now() + kAfterClosed);
        }
        if (gone || is_whole(seen.report))
            return seen;
        if (steady_clock::now() >= end) {
            seen.cause = open ? fmt::format("it did not end within {} s", limit.count()) : kFilesClosed;
            return seen;
        }
    }
}

std::vector<pid_t> children() {
    std::vector<pid_t> found;
    std::ifstream file(fmt::format("/proc/self/task/{}/children", ::getpid()));
    for (pid_t each = 0; file >> each;)
        found.push_back(each);
    return found;
}

/// The application, and what the plugin forked: their parent is gone, so they are this process's now.
void end_what_it_left(const std::vector<pid_t>& known) {
    for (int round = 0; round < 10; ++round) {
        bool any = false;
        for (const pid_t each : children())
            if (std::find(known.begin(), known.end(), each) == known.end()) {
                any = true;
                ::kill(each, SIGKILL);
                ::waitpid(each, nullptr, 0);
            }
        if (!any)
            return;
    }
}

std::string how_lost(const Followed& seen, int status) {
    if (!seen.cause.empty())
        return seen.cause;
    const host::Ending ending = host::ending_of(status);
    if (ending.signal == kReportLost)
        return kFilesClosed;
    if (ending.signal)
        return fmt::format("signal {} ({})", *ending.signal, ::strsignal(*ending.signal));
    return fmt::format("exit code {}", ending.exit_code);
}

Diagnostic no_process() {
    return error("EGPU-T017", fmt::format("no process for a case: {}", ::strerror(errno)),
                 "ulimit -n and ulimit -u say how many files and processes are allowed");
}

}  // namespace

std::string printed_in_case() {
    std::fflush(nullptr);
    return read_printed(STDOUT_FILENO);
}

Result<CaseEnd> run_case_apart(const std::function<std::string()>& run, std::chrono::seconds limit) {
    const auto known = children();
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
        return no_process();
    const int output = ::memfd_create("egpu-plugin-test", MFD_CLOEXEC);
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    std::fflush(nullptr);
    const pid_t parent = ::getpid();
    const pid_t child = output < 0 ? -1 : ::fork();
    if (child == 0) {
        ::close(ends[0]);
        be_the_case(run, parent, ends[1], output);
    }
    if (child < 0) {
        auto problem = no_process();
        for (const int file : {ends[0], ends[1], output})
            ::close(file);
        return problem;
    }
    ::close(ends[1]);
    auto seen = follow(ends[0], child, limit);
    ::kill(child, SIGKILL);  // nothing is left for it to do
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    end_what_it_left(known);
    CaseEnd end;
    end.printed = read_printed(output);
    if (is_whole(seen.report)) {
        seen.report.pop_back();
        end.report = std::move(seen.report);
    } else {
        end.lost = how_lost(seen, status);
        segment::remove_stale_segments();
        host::remove_stale_sockets();
    }
    ::close(ends[0]);
    ::close(output);
    return end;
}

}  // namespace egpu::cli
