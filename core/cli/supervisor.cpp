// SPDX-License-Identifier: Apache-2.0
#include "cli/supervisor.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/terminal.hpp"
#include "host/session/control_socket.hpp"
#include "host/session/launcher.hpp"
#include "segment/create/create.hpp"
#include "segment/create/sessions.hpp"

namespace egpu::cli {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

/// What egpu tells its supervisor, in one write(2) each.
struct Told {
    enum Kind : std::int32_t { application_started, application_ended, end, exit_called } kind;
    std::int32_t value;
};

int telling = -1;    ///< the pipe's end in the supervised process
pid_t supervised{};  ///< that process; what a plugin forks is another

/// How a process ends that can't tell: egpu uses it for nothing else.
constexpr int kPipeLost = SIGUSR2;

/// False where the pipe is not there any more.
bool tell(Told::Kind kind, int value) {
    const Told told{kind, value};
    return ::getpid() == supervised && ::write(telling, &told, sizeof told) == sizeof told;
}

/// A plugin called exit(): what egpu's threads use must not be destroyed under them, which may hang.
void on_exit_called(int code, void*) {
    if (::getpid() != supervised)
        return;
    tell(Told::exit_called, code);
    ::_exit(code);
}

constexpr milliseconds kTurn{1000};
constexpr milliseconds kEndOfTold{5000};           ///< from its last word to its end
constexpr milliseconds kEndOfInterrupted{10'000};  ///< a plugin's call may take its time, the session's end too
constexpr milliseconds kEndOfClosed{1000};         ///< files are closed before a process is gone

/// The cursor stays where it is; all of the terminal scrolls again.
constexpr std::string_view kScrollAll =
    "\x1b"
    "7\x1b[r\x1b"
    "8";

/// A moment from which on the process that is watched has been waited for long enough.
struct Limit {
    milliseconds left;
    std::string cause;  ///< "" where no one is to blame
};

/// The process that egpu was started as. It runs no code of a plugin and has one thread.
class Supervisor {
public:
    Supervisor(const Supervision& given, pid_t child, int pipe, int told_to, int signals)
        : given_(given), child_(child), pipe_(pipe), told_to_(told_to), signals_(signals) {
        struct stat about {};
        if (::fstat(pipe, &about) == 0)
            pipe_name_ = fmt::format("pipe:[{}]", about.st_ino);
    }

    /// Returns what egpu is to exit with.
    int run() {
        while (!child_status_)
            turn();
        remove_forks();
        if (end_)
            return *end_;
        const host::Ending ending = host::ending_of(*child_status_);
        if (cause_.empty() && ending.signal && (taken_.contains(*ending.signal) || ending.signal == SIGPIPE))
            return 128 + *ending.signal;  // before or after a session signals do what they do to any program
        if (application_ == 0)
            find_application();
        say_lost(ending);
        if (!interrupted())
            wait_for_application();
        segment::remove_stale_segments();
        host::remove_stale_sockets();
        if (interrupted())
            return 128 + SIGINT;
        return application_end_.value_or(0) != 0 ? *application_end_ : host::kCannot;
    }

private:
    bool interrupted() const { return interrupts_ > 1; }

    /// Waits for news or for a second, whichever comes first.
    void turn() {
        pollfd watched[] = {{signals_, POLLIN, 0}, {pipe_, POLLIN, 0}, {application_file_, POLLIN, 0}};
        milliseconds wait = kTurn;
        for (const auto& limit : limits_)
            wait = std::min(wait, std::max(limit.left, milliseconds(1)));
        const auto before = std::chrono::steady_clock::now();
        ::poll(watched, 3, static_cast<int>(wait.count()));
        const auto took =
            std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - before) + milliseconds(1);
        // A person may have stopped all of us meanwhile: that time does not count.
        for (auto& limit : limits_)
            limit.left -= std::min(took, kTurn);
        read_pipe();
        if (watched[2].revents != 0)
            application_is_gone();
        read_signals();
        reap();
        if (!child_status_) {
            look_for_pipe();
            enforce_limits();
        }
    }

    void read_pipe() {
        Told told{};
        while (pipe_ >= 0) {
            const ssize_t got = ::read(pipe_, &told, sizeof told);
            if (got == sizeof told) {
                take(told);
            } else if (got < 0 && errno == EINTR) {
                continue;
            } else if (got < 0 && errno == EAGAIN) {
                return;
            } else {
                ::close(pipe_);
                pipe_ = -1;
                limit(kEndOfClosed, kClosed);
            }
        }
    }

    void take(const Told& told) {
        switch (told.kind) {
            case Told::application_started:
                application_ = told.value;
                application_file_ = static_cast<int>(::syscall(SYS_pidfd_open, application_, 0));
                return;
            case Told::application_ended:
                application_end_ = told.value;
                return application_is_gone();
            case Told::end:
                end_ = told.value;
                return limit(kEndOfTold, "");
            case Told::exit_called:
                exit_called_ = true;
        }
    }

    void application_is_gone() {
        if (application_file_ >= 0)
            ::close(application_file_);
        application_file_ = -1;
        if (!gone_)
            limit(given_.patience,
                  fmt::format("it did not end within {} s after the application", given_.patience.count() / 1000));
        gone_ = true;
    }

    void limit(milliseconds left, std::string cause) { limits_.push_back({left, std::move(cause)}); }

    /// A fork of the plugin's may keep the pipe open that egpu itself has no more.
    void look_for_pipe() {
        if (pipe_ < 0 || closed_)
            return;
        const auto name = fmt::format("/proc/{}/fd/{}", child_, told_to_);
        char target[64];
        const ssize_t bytes = ::readlink(name.c_str(), target, sizeof target);
        if (bytes < 0 ? errno == ENOENT : std::string_view(target, static_cast<std::size_t>(bytes)) != pipe_name_) {
            closed_ = true;
            limit(kEndOfClosed, kClosed);
        }
    }

    void enforce_limits() {
        const auto over =
            std::find_if(limits_.begin(), limits_.end(), [](const Limit& each) { return each.left.count() <= 0; });
        if (over == limits_.end())
            return;
        cause_ = over->cause;
        ::kill(child_, SIGKILL);
        limits_.clear();
    }

    void read_signals() {
        signalfd_siginfo info{};
        while (::read(signals_, &info, sizeof info) == sizeof info)
            if (info.ssi_signo != SIGCHLD)
                take_signal(static_cast<int>(info.ssi_signo), info.ssi_code == SI_KERNEL);
    }

    /// What a terminal sends reaches the whole group; what was sent to this process alone is passed on.
    void take_signal(int signal, bool from_terminal) {
        taken_.insert(signal);
        if (signal == SIGINT && ++interrupts_ == 2)
            limit(kEndOfInterrupted, "it did not end when it was interrupted twice");
        if (!child_status_) {
            if (!from_terminal)
                ::kill(child_, signal);
        } else if (signal == SIGUSR1) {
            say("there is no summary: egpu was ended by a plugin's code");
        } else if (interrupted()) {
            say("interrupted twice: egpu ends now, the application goes on with its original kernels");
        } else if (!from_terminal && application_ > 0 && !application_end_) {
            ::kill(application_, signal);
        }
    }

    void reap() {
        int status = 0;
        for (pid_t ended = 0; (ended = ::waitpid(-1, &status, WNOHANG)) != 0;) {
            if (ended < 0) {
                if (errno == ECHILD && !child_status_)
                    child_status_ = 0;
                return;
            }
            if (ended == child_) {
                child_status_ = status;
                read_pipe();  // its last words, before the application's end, which may be next
            } else if (ended == application_) {
                application_end_ = host::ending_of(status).as_exit_code();
            }
        }
    }

    /// Processes that the plugin forked and that are still egpu: the pipe is closed in every other program.
    void remove_forks() {
        if (pipe_ < 0)
            return;  // nobody has it
        for (int round = 0; round < 10; ++round) {
            bool any = false;
            for (const pid_t each : adopted())
                if (holds_pipe(each)) {
                    any = true;
                    ::kill(each, SIGKILL);
                    ::waitpid(each, nullptr, 0);
                }
            if (!any)
                return;
        }
    }

    /// Where egpu ended before it told: the program that was started with the name of its session.
    void find_application() {
        const auto wanted = fmt::format("{}={}", segment::kNameVariable, fmt::format("egpu-{}-{}", ::getuid(), child_));
        for (const pid_t each : adopted()) {
            std::ifstream file(fmt::format("/proc/{}/environ", each), std::ios::binary);
            for (std::string entry; std::getline(file, entry, '\0');)
                if (entry == wanted)
                    application_ = each;
        }
    }

    static std::vector<pid_t> adopted() {
        std::vector<pid_t> found;
        std::ifstream file(fmt::format("/proc/self/task/{}/children", ::getpid()));
        for (pid_t each = 0; file >> each;)
            found.push_back(each);
        return found;
    }

    bool holds_pipe(pid_t process) const {
        std::error_code failed;
        fs::directory_iterator file(fmt::format("/proc/{}/fd", process), failed);
        for (; !failed && file != fs::directory_iterator(); file.increment(failed)) {
            std::error_code ignored;
            if (fs::read_symlink(file->path(), ignored).string() == pipe_name_)
                return true;
        }
        return false;
    }

    std::string how(const host::Ending& ending) const {
        if (!cause_.empty())
            return cause_;
        if (ending.signal == kPipeLost)
            return kClosed;
        if (ending.signal)
            return fmt::format("signal {} ({})", *ending.signal, ::strsignal(*ending.signal));
        return fmt::format("{} {}", exit_called_ ? "exit() with exit code" : "exit code", ending.exit_code);
    }

    void say_lost(const host::Ending& ending) const {
        if (given_.table && ::write(STDERR_FILENO, kScrollAll.data(), kScrollAll.size()) < 0)
            return;  // no one reads
        const bool runs = application_ > 0 && !gone_;
        auto problem = error("EGPU-X096", fmt::format("egpu was ended by a plugin's code ({}): {}",
                                                      fmt::join(given_.plugins, ", "), how(ending)));
        problem.hints.emplace_back(
            "lost: the report, the summary, what is expected and --strict; a recording ends where egpu did");
        if (application_ <= 0)
            problem.hints.emplace_back("the application was not started");
        else if (runs)
            problem.hints.emplace_back("the application goes on with its original kernels; egpu waits for its end");
        if (cause_.empty() && ending.signal && *ending.signal == SIGKILL)
            problem.hints.emplace_back("the system does the same where memory is short, and so does kill -9");
        for (const auto& file : given_.files)
            problem.hints.push_back(
                fmt::format("egpu plugin test NAME.test.yaml --plugin {0} tries its code with maps that hold "
                            "something; egpu plugin "
                            "check {0} with empty ones alone",
                            file));
        say(problem);
    }

    void wait_for_application() {
        limits_.clear();
        while (application_ > 0 && !application_end_ && !interrupted()) {
            if (::kill(application_, 0) != 0 && errno == ESRCH)
                return;
            turn();
        }
    }

    static constexpr const char* kClosed = "it closed egpu's files";

    const Supervision& given_;
    pid_t child_;
    int pipe_, told_to_, signals_;
    std::string pipe_name_;  ///< as /proc shows it
    pid_t application_ = 0;
    int application_file_ = -1;
    bool gone_ = false, closed_ = false, exit_called_ = false;
    std::optional<int> application_end_, end_, child_status_;
    std::vector<Limit> limits_;
    std::string cause_;
    std::set<int> taken_;
    int interrupts_ = 0;
};

/// The process that goes on.
void become_supervised(int pipe, const sigset_t& signals_before) {
    telling = pipe;
    supervised = ::getpid();
    // Who ends the supervisor with SIGKILL means egpu.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::on_exit(on_exit_called, nullptr);
    ::sigprocmask(SIG_SETMASK, &signals_before, nullptr);
}

}  // namespace

Status supervise(const Supervision& supervision) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return error("EGPU-X096", fmt::format("no pipe for a plugin's supervisor: {}", ::strerror(errno)));
    sigset_t set, before;
    ::sigemptyset(&set);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGCHLD})
        ::sigaddset(&set, signal);
    ::sigprocmask(SIG_BLOCK, &set, &before);
    const int signals = ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // not inherited by the child
    std::fflush(nullptr);
    const pid_t child = signals < 0 ? -1 : ::fork();
    if (child < 0) {
        const int why = errno;
        ::prctl(PR_SET_CHILD_SUBREAPER, 0);
        ::sigprocmask(SIG_SETMASK, &before, nullptr);
        for (const int file : {ends[0], ends[1], signals})
            ::close(file);
        return error("EGPU-X096", fmt::format("no process for a plugin's supervisor: {}", ::strerror(why)));
    }
    if (child == 0) {
        ::close(ends[0]);
        ::close(signals);
        become_supervised(ends[1], before);
        return ok();
    }
    ::signal(SIGCHLD, SIG_DFL);
    ::close(ends[1]);
    ::_exit(Supervisor(supervision, child, ends[0], ends[1], signals).run());
}

bool is_supervised() {
    return supervised != 0;
}

void tell_application_started(pid_t application) {
    tell(Told::application_started, application);
}

void tell_application_ended(int exit_code) {
    tell(Told::application_ended, exit_code);
}

void end_supervised(int exit_code) {
    std::fflush(nullptr);
    if (!tell(Told::end, exit_code)) {
        // A plugin closed the pipe; a signal can still say so.
        ::signal(kPipeLost, SIG_DFL);
        ::raise(kPipeLost);
    }
    ::_exit(exit_code);
}

}  // namespace egpu::cli
