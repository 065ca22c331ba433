// SPDX-License-Identifier: Apache-2.0
// What can be expected of a set's probes: the names of their metrics, which BTF alone decides.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "host/probesets/probeset.hpp"
#include "host/programs/programs.hpp"

namespace egpu::host {

/// A metric of a probe, or of the session: as the summary names it.
struct KnownMetric {
    struct Label {
        std::string name;                 ///< "space"
        std::vector<std::string> values;  ///< of an enum; empty: any
    };
    std::string name;  ///< "bandwidth.requested_bytes"
    Dimension dimension = Dimension::number;
    std::vector<Label> labels;
    bool is_histogram = false;
};

std::vector<KnownMetric> metrics_of(const LoadedProbe& probe);
std::vector<KnownMetric> session_metrics();

/// EGPU-S031 (no such metric), S032 (no such label, or value of one), S013 (a number without the metric's unit), S033
/// (a histogram). Metrics of a probe among `named` that is not among `probes` are not looked at: it could not be
/// loaded.
std::vector<Diagnostic> check_expectations(const std::vector<Expectation>& expectations,
                                           const std::vector<const LoadedProbe*>& probes,
                                           const std::vector<std::string>& named);

}  // namespace egpu::host
