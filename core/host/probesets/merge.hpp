// SPDX-License-Identifier: Apache-2.0
// Laying one set over another (TARGETS E5).
#pragma once

#include <vector>

#include "host/probesets/probeset.hpp"

namespace egpu::host {

/// `over` onto `base`: a scalar replaces, a map merges key by key, probes and expectations append; kernels and launches
/// narrow. EGPU-S014 where launches narrow to none.
void lay_over(ProbeSet& base, ProbeSet over, std::vector<Diagnostic>& problems);

}  // namespace egpu::host
