// SPDX-License-Identifier: Apache-2.0
// Times of launches of a copy, as the segment keeps them: sums over single launches, and over pairs of one launch of it
// and one of its original, from which a reader makes means, the mean ratio and its interval.
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
    std::uint64_t single_launches = 0;  ///< timed in no pair
    std::uint64_t single_ns = 0;        ///< sum over these
};

/// For the one writer.
void add_pair(egpu_copy_times& times, const TimedPair& pair);
void add_single(egpu_copy_times& times, std::uint64_t nanoseconds);

/// Whole sums, of one moment. Never waits: nullopt where the writer is, or stopped, in the middle of them.
std::optional<CopyTimes> read_times(const egpu_copy_times& times);

}  // namespace egpu::segment
