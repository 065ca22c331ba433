// SPDX-License-Identifier: Apache-2.0
// Times of a copy against its original, as the segment keeps them: sums over pairs of launches, from which a reader
// makes means, the mean ratio and its interval.
#pragma once

#include <cstdint>
#include <optional>

#include "segment/layout/layout.h"

namespace egpu::segment {

/// One launch of the original and one of the copy, of the same shape.
struct TimedPair {
    std::uint64_t original_ns = 0;
    std::uint64_t instrumented_ns = 0;
    double log_ratio = 0;  ///< ln(instrumented / original)
};

/// Sums over pairs.
struct CopyTimes {
    std::uint64_t pairs = 0;
    std::uint64_t original_ns = 0;
    std::uint64_t instrumented_ns = 0;
    double log_ratio = 0;
    double log_ratio_squares = 0;
};

/// For the one writer.
void add_pair(egpu_copy_times& times, const TimedPair& pair);

/// Whole sums, of one moment. Never waits: nullopt where the writer is, or stopped, in the middle of them.
std::optional<CopyTimes> read_times(const egpu_copy_times& times);

}  // namespace egpu::segment
