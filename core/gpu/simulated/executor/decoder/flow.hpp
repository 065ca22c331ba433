// SPDX-License-Identifier: Apache-2.0
// Where the paths of a divergent branch meet again.
#pragma once

#include "gpu/simulated/executor/machine/program.hpp"

namespace egpu::simulated {

/// Sets `reconverge` of every branch in code [begin, end) of one function: the first instruction of its block's
/// immediate post-dominator, or kReturn where the paths meet only where the function ends.
void set_reconvergence(Program& program, std::uint32_t begin, std::uint32_t end);

}  // namespace egpu::simulated
