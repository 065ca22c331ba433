// SPDX-License-Identifier: Apache-2.0
// The natural logarithm: the agent links no mathematics library.
#pragma once

namespace egpu::agent {

/// ln(x) to some 1e-15 (relative to the larger of 1 and itself), for finite x > 0 that is not denormal.
double natural_logarithm(double x);

}  // namespace egpu::agent
