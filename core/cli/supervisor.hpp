// SPDX-License-Identifier: Apache-2.0
// A run whose plugins have code is watched by a process that has none of it: what ends egpu is then said, the
// application is waited for, and the exit code stays true.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace egpu::cli {

struct Supervision {
    std::vector<std::string> plugins;  ///< ids of those with code
    std::vector<std::string> files;    ///< theirs
    /// How long after the application's end egpu may take before it is taken to hang.
    std::chrono::milliseconds patience{60'000};
    bool table = false;  ///< --live: the terminal's scrolling region is to be given back
};

/// Goes on in a child process; the caller's own process watches it and never returns. Call it before any thread is
/// started. EGPU-X096 where no process can be made.
Status supervise(const Supervision& supervision);
/// True in the process that supervise() went on in.
bool is_supervised();

/// What the supervisor needs in order to wait for the application, should egpu be gone. Nothing without one.
void tell_application_started(pid_t application);
/// `exit_code`: as egpu run gives it on, 128 + signal for a signal.
void tell_application_ended(int exit_code);
/// Ends this process: the supervisor learns that nobody but egpu ended it. Standard streams are flushed, destructors
/// do not run.
[[noreturn]] void end_supervised(int exit_code);

}  // namespace egpu::cli
