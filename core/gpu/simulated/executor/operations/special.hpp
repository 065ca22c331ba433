// SPDX-License-Identifier: Apache-2.0
// Special registers whose value changes while a warp runs.
#pragma once

#include <string_view>

#include "gpu/simulated/executor/machine/program.hpp"

namespace egpu::simulated {

/// %clock, %clock_hi, %clock64, %globaltimer, %globaltimer_lo, %globaltimer_hi; nullptr for any other name.
Handler dynamic_register_handler(std::string_view name);
bool dynamic_register_is_wide(std::string_view name);

}  // namespace egpu::simulated
