// SPDX-License-Identifier: Apache-2.0
// What egpu cost the application, as `egpu run` says it at the end: overhead of kernels, waits, GPU memory.
#pragma once

#include <string>
#include <vector>

#include "host/view/session_view.hpp"

namespace egpu::cli {

/// Lines without their "egpu: " prefix; none on the simulated GPU unless overhead was asked for.
std::vector<std::string> cost_report(const host::SessionView& view);

}  // namespace egpu::cli
