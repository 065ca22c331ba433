// SPDX-License-Identifier: Apache-2.0
// The summary file (TARGETS E7, schema egpu/summary/1): what tests, CI and pandas read.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/export/expectations.hpp"
#include "host/session/launcher.hpp"
#include "host/view/session_view.hpp"

namespace egpu::host {

struct RunFacts {
    double elapsed_s = 0;
    bool ended = true;  ///< false: a report while it runs
    Ending ending;
    std::int32_t application_pid = 0;
    std::vector<ExpectationResult> expectations;
    std::vector<std::string> diagnostics;  ///< said to the user besides the catalogue's
};

/// One JSON object. Unknown is null, never 0.
std::string summary_json(const SessionView& view, const RunFacts& facts);

}  // namespace egpu::host
