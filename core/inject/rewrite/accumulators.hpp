// SPDX-License-Identifier: Apache-2.0
// Which sums are kept in registers until the thread leaves the kernel (DESIGN 7).
#pragma once

#include <vector>

#include "inject/rewrite/firing.hpp"

namespace egpu::inject {

/// At most `budget` elements (map indices are the session's) that every program of the kernel only adds to, chosen by
/// loop depth of their deepest site in the entry function, then by their number of sites there. Empty where a sum
/// could not be flushed: no way out of the kernel goes through the entry function, or one goes round it.
std::vector<Accumulator> choose_accumulators(const RewriteRequest& request, const Plan& plan);

}  // namespace egpu::inject
