// SPDX-License-Identifier: Apache-2.0
// A case of a plugin's test in a process of its own: whatever the plugin's code does to that process, the one that
// waits runs none of it and says what happened.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "base/result.hpp"

namespace egpu::cli {

struct CaseEnd {
    std::string report;   ///< what the case had to say, "" where all is well
    std::string lost;     ///< how the process ended that did not report: "signal 11 (Segmentation fault)"; "": it did
    std::string printed;  ///< what was printed on its stdout and stderr, also by programs that it started
};

/// Runs `run`, which returns the report, in a child process, and waits for no longer than `limit`. Nothing that the
/// child started is left then. Call it while this process has one thread. EGPU-T017 where no process can be made.
Result<CaseEnd> run_case_apart(const std::function<std::string()>& run, std::chrono::seconds limit);

/// In that child: what was printed until now.
std::string printed_in_case();

}  // namespace egpu::cli
