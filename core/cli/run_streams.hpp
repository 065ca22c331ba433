// SPDX-License-Identifier: Apache-2.0
// What belongs to the application while it runs: standard output is its own, and a reader of egpu's lines that goes
// away, or a limit on the size of files, ends neither.
#pragma once

#include <signal.h>

#include "host/session/launcher.hpp"

namespace egpu::cli {

/// From now on, and until it goes, what this process writes to standard output (a plugin's code may) lands on standard
/// error, and SIGPIPE and SIGXFSZ are errors of the call that caused them.
class RunStreams {
public:
    RunStreams();
    ~RunStreams();
    RunStreams(const RunStreams&) = delete;
    RunStreams& operator=(const RunStreams&) = delete;

    /// What the application is started with: all of it as this process had it.
    host::Inheritance inheritance() const;

private:
    int standard_output_ = -1;  ///< the application's; -1: it is closed
    struct sigaction pipe_ {
    }, file_size_{};
};

}  // namespace egpu::cli
