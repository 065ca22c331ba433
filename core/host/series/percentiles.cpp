// SPDX-License-Identifier: Apache-2.0
#include "host/series/percentiles.hpp"

#include <algorithm>
#include <cmath>

namespace egpu::host {
namespace {

/// As a double: slots of a damaged file may add up to more than 2^64.
double total_of(const HistogramSlots& slots) {
    double sum = 0;
    for (const auto count : slots)
        sum += static_cast<double>(count);
    return sum;
}

}  // namespace

double percentile_of(const HistogramSlots& slots, double share) {
    // The rank of the value, from 1: of 100 values the 95th is the 95th percentile (nearest rank).
    const double rank = std::max(std::ceil(total_of(slots) * share), 1.0);
    double below = 0;
    double result = 0;
    for (std::size_t i = 0; i < slots.size(); ++i) {
        if (slots[i] == 0)
            continue;
        const auto count = static_cast<double>(slots[i]);
        const double low = i == 0 ? 0 : std::ldexp(1.0, static_cast<int>(i));
        const double high = std::ldexp(1.0, static_cast<int>(i) + 1);
        // The k-th of n values that are spread evenly over the slot; the end is never reached.
        result = low + (high - low) * (std::min(rank - below, count) - 0.5) / count;
        if (below + count >= rank)
            return result;
        below += count;
    }
    return result;
}

std::optional<Percentiles> percentiles_of(const HistogramSlots& slots) {
    const double total = total_of(slots);
    if (total == 0)
        return std::nullopt;
    return Percentiles{percentile_of(slots, 0.50), percentile_of(slots, 0.95), percentile_of(slots, 0.99),
                       total < 18446744073709551615.0 ? static_cast<std::uint64_t>(total) : ~std::uint64_t{0}};
}

}  // namespace egpu::host
