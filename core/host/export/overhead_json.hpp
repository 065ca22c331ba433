// SPDX-License-Identifier: Apache-2.0
// Overhead of a kernel as summaries and lists hold it.
#pragma once

#include <cstdint>
#include <vector>

#include <nlohmann/json.hpp>

#include "host/findings/overhead.hpp"

namespace egpu::host {

/// {"ratio", "ratio_low", "ratio_high" (95 %), "original_ns", "instrumented_ns" (means of a launch), "pairs", "probes",
/// "reason"}; figures are null where there is none, with the reason. Null where overhead was not asked for, or the
/// kernel ran no copy.
nlohmann::ordered_json overhead_json(const std::vector<Overhead>& overheads, std::uint32_t kernel_id);

}  // namespace egpu::host
