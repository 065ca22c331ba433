// SPDX-License-Identifier: Apache-2.0
// What instrumentation costs a kernel: time of a launch of the copy over one of the original, measured in the same run
// (egpu run --overhead; TARGETS E2 "overhead").
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host/view/session_view.hpp"

namespace egpu::host {

/// Over pairs of launches of one shape, one of each. A launch's time is that between an event before and one after it
/// in its stream: what the driver and the device need to start it is in it, so that short kernels seem to pay less, and
/// so is what other streams take of the device meanwhile.
struct MeasuredOverhead {
    double original_ns = 0;      ///< of a launch, mean
    double instrumented_ns = 0;  ///< of a launch, mean
    double ratio = 0;            ///< geometric mean of instrumented / original
    double low = 0, high = 0;    ///< its 95 % confidence interval, Student's t on the logarithms
    /// "1.12x ± 0.01": half the interval's width, in as many digits as it takes.
    std::string text() const;
};

/// nullopt for fewer than 5 pairs: their interval says nothing.
std::optional<MeasuredOverhead> measured_overhead(const LaunchTimes& times);

struct Overhead {
    std::uint32_t kernel_id = 0;
    std::uint64_t pairs = 0;
    std::optional<MeasuredOverhead> measured;
    std::string reason;               ///< why it is not measured: "only 3 pairs"
    std::vector<std::string> probes;  ///< of the copy that was timed
    /// "1.12x ± 0.01 (64 pairs)", "n/a: only 3 pairs".
    std::string text() const;
};

/// Of each kernel that ran a copy, by kernel id; empty where the session was not asked for it. Of several copies of one
/// kernel (probes that came and went) the last one that was timed counts.
std::vector<Overhead> overheads(const SessionView& view);

/// The device has no time to measure.
inline constexpr const char* kNoTime = "the simulated GPU knows no time";

}  // namespace egpu::host
