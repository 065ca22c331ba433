// SPDX-License-Identifier: Apache-2.0
// egpu run, as demo and kernels use it too.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/probe_options.hpp"
#include "host/export/summary.hpp"
#include "host/view/session_view.hpp"

namespace egpu::cli {

struct RunOptions {
    ProbeOptions probes;
    std::vector<std::string> command;
    bool quiet = false, verbose = false, simulated = false, strict = false;
    bool overhead = false;                  ///< --overhead
    bool live = false;                      ///< --live
    std::string record;                     ///< --record FILE, with %p %h %n %q{VAR}
    std::string record_interval = "50 ms";  ///< --record-interval
    std::string summary;                    ///< --summary FILE, with %p %h %n %q{VAR}
    std::string wait = "2 s";               ///< --wait
    std::string gpu_memory = "64 MiB";      ///< --gpu-memory
    std::string sample = "launches=all";    ///< --sample
    std::string reserve = "5 MiB";          ///< --reserve
    std::uint32_t insights_wait_ms = 0;     ///< after the end, for figures of kernels without programs
    bool report = true;                     ///< print the summary at the end
    std::function<void()> before_start;     ///< after the line about the device
};

struct RunOutcome {
    int exit_code = 0;
    std::optional<host::SessionView> view;
    host::RunFacts facts;
};

/// Starts the program, observes it, reports. Never throws for what a user can cause.
RunOutcome run_program(const RunOptions& options);

}  // namespace egpu::cli
