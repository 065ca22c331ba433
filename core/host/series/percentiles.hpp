// SPDX-License-Identifier: Apache-2.0
// Percentiles of a log2 histogram.
#pragma once

#include <optional>

#include "host/series/series.hpp"

namespace egpu::host {

/// In the histogram's unit. A slot says of its values only that they are in [2^i, 2^(i+1)); they are taken as spread
/// evenly over it, so each figure lies in the same slot as the true one: wrong by less than a factor of two.
struct Percentiles {
    double p50 = 0, p95 = 0, p99 = 0;
    std::uint64_t values = 0;  ///< how many the histogram holds
};

/// nullopt where it holds none.
std::optional<Percentiles> percentiles_of(const HistogramSlots& slots);

/// The value below which a share (0 to 1) of the values lies; only where there are any.
double percentile_of(const HistogramSlots& slots, double share);

}  // namespace egpu::host
