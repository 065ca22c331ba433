// SPDX-License-Identifier: Apache-2.0
// Instructions in which the lanes of a warp give each other values.
#pragma once

#include <string_view>

#include "gpu/simulated/executor/machine/context.hpp"
#include "gpu/simulated/executor/machine/program.hpp"

namespace egpu::simulated {

struct Collective {
    Gather gather = nullptr;
    Scatter scatter = nullptr;
};

Collective shuffle(std::string_view mode);                    ///< up, down, bfly, idx
Collective vote(std::string_view mode);                       ///< all, any, uni, ballot
Collective match(bool all, Type type);                        ///< b32, b64
Collective reduction(std::string_view operation, Type type);  ///< redux: add, min, max, and, or, xor
/// redux of f32: min, max; of absolute values; NaN wins, or gives way to numbers.
Collective float_reduction(std::string_view operation, bool absolute, bool keeps_nan);
Collective election();
Handler activemask_handler();

}  // namespace egpu::simulated
