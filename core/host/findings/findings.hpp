// SPDX-License-Identifier: Apache-2.0
// Rules over maps that say what is slow and why, with the evidence and the source line.
#pragma once

#include <string>
#include <vector>

#include "host/view/session_view.hpp"

namespace egpu::host {

struct Finding {
    std::string id;  ///< "uncoalesced-access"
    Severity severity = Severity::warning;
    std::string plugin;  ///< that reported it; "": one of egpu's own rules
    std::uint32_t kernel_id = 0;
    std::string place;  ///< "gather.cu:14", "" without line information
    std::string text;   ///< one paragraph: what, the evidence, what to do
    double weight = 0;  ///< sectors wasted: the order in which findings are shown
};

/// All findings, those of plugins too: the most severe first, among equals the weightiest.
std::vector<Finding> find_all(const SessionView& view);

/// What plugins reported at their last call.
std::vector<Finding> reported_findings(const SessionView& view);

/// Loads and stores of global memory whose warps use less than half of the sectors that they touch.
std::vector<Finding> find_uncoalesced_access(const SessionView& view);

}  // namespace egpu::host
