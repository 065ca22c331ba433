// SPDX-License-Identifier: Apache-2.0
// One observed run: its segment, its server, the application's process.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/sampling.hpp"
#include "host/pipeline/pipeline.hpp"
#include "host/session/launcher.hpp"
#include "host/view/session_view.hpp"

namespace egpu::host {

struct SessionOptions {
    std::vector<std::string> command;
    std::vector<LoadedProbe> probes;
    std::vector<std::string> probe_sets;  ///< as asked for
    KernelSelection kernels;
    bool simulated = false;  ///< preload the stand-ins
    std::uint32_t wait_ms = 2000;
    std::uint64_t gpu_memory_bytes = std::uint64_t{64} << 20;
    std::uint32_t sample_launches = 1;  ///< one in so many of each kernel runs its copy
    Sampling sampling;  ///< of blocks or warps, where the command line says so: also of probes that are added
    std::uint64_t launch_skip = 0;                         ///< not the first so many launches of each kernel,
    std::uint64_t launch_count = 0;                        ///< only the so many after them; 0: all
    bool measure_overhead = false;                         ///< compare times; nothing on a simulated device
    std::uint64_t reserve_bytes = std::uint64_t{5} << 20;  ///< of the segment, for maps of probes added later
    /// How long to wait, after the application's end, for figures of kernels without programs.
    std::uint32_t insights_wait_ms = 0;
    Inheritance inheritance;  ///< of the program
    /// A line that a program printed, or that some were left out. On a thread of its own.
    std::function<void(const std::string&)> on_printed;
    std::function<void(pid_t)> on_started;        ///< the application's process is there
    std::function<void(const Ending&)> on_ended;  ///< it has ended; the session has not yet summed up
};

/// A signal that this process received.
struct ReceivedSignal {
    int number = 0;
    bool from_terminal = false;  ///< a person's, which the application received as well
    pid_t sender = 0;            ///< 0: of the kernel
};

class Session {
public:
    /// Makes the segment and starts the program. `failure_code`: what `egpu run` exits with on an error (125, 126,
    /// 127).
    static Result<std::unique_ptr<Session>> start(SessionOptions options, int* failure_code);
    ~Session();

    std::uint32_t id() const;
    pid_t application() const;
    /// Of its segment: for whoever reads it as any other process would.
    const std::string& segment_name() const;

    /// Waits for the application's end. `on_signal` is called on this thread with SIGINT, SIGTERM, SIGUSR1 ... that
    /// egpu itself received; it returns false to stop waiting at once.
    std::optional<Ending> wait(const std::function<bool(const ReceivedSignal&)>& on_signal);

    /// The session as it stands; after the end: its totals.
    Result<SessionView> view();
    /// Asks the agent for a copy of the maps and waits for it, at most `timeout_ms`.
    bool drain(std::uint32_t timeout_ms);
    double elapsed_seconds() const;
    /// How copies were compiled, after the end; "" where none was.
    std::string compile_report() const;

private:
    struct State;
    explicit Session(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

/// True where an NVIDIA driver answers on this machine.
bool driver_present();

}  // namespace egpu::host
