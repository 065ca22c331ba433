// SPDX-License-Identifier: Apache-2.0
// Starting the application with our libraries preloaded, and learning how it ended.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace egpu::host {

/// What egpu changed for itself and the application gets as it was.
struct Inheritance {
    int standard_output = -1;                              ///< descriptor; -1: the caller's own
    bool ignores_pipe = false, ignores_file_size = false;  ///< SIGPIPE, SIGXFSZ
};

struct LaunchPlan {
    std::vector<std::string> command;  ///< program and arguments
    std::vector<std::string> preload;  ///< put before what LD_PRELOAD holds already
    std::vector<std::pair<std::string, std::string>> environment;
    Inheritance inheritance;
};

/// Exit codes of `egpu run` for what never ran (as env(1) and the shell have them).
inline constexpr int kCannot = 125, kNotExecutable = 126, kNotFound = 127;

/// Starts the program, in the caller's process group and on its terminal. On failure `exit_code` of the error is 126
/// or 127 by the reason, given in *failure_code.
Result<pid_t> start_program(const LaunchPlan& plan, int* failure_code);

struct Ending {
    int exit_code = 0;          ///< where it exited
    std::optional<int> signal;  ///< where a signal ended it
    /// What `egpu run` exits with: the code, or 128 + signal.
    int as_exit_code() const { return signal ? 128 + *signal : exit_code; }
};
/// From a waitpid(2) status.
Ending ending_of(int status);

}  // namespace egpu::host
