// SPDX-License-Identifier: Apache-2.0
// egpu run, as demo and kernels use it too.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/probe_options.hpp"
#include "cli/run_settings.hpp"
#include "host/export/summary.hpp"
#include "host/view/session_view.hpp"

namespace egpu::cli {

struct RunOptions {
    ProbeOptions probes;
    std::vector<std::string> command;
    RunSettingOptions settings;
    bool quiet = false, verbose = false, simulated = false;
    bool overhead = false;                  ///< --overhead
    bool live = false;                      ///< --live
    std::string record_interval = "50 ms";  ///< --record-interval
    std::uint32_t insights_wait_ms = 0;     ///< after the end, for figures of kernels without programs
    bool supervised = false;                ///< watch over plugins with code: this process becomes the supervisor
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
