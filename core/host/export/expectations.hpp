// SPDX-License-Identifier: Apache-2.0
// Whether what a probe set expects came about (TARGETS E5, `expect`).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "host/probesets/probeset.hpp"
#include "host/view/session_view.hpp"

namespace egpu::host {

struct ExpectationResult {
    Expectation expectation;
    std::optional<Quantity> value;  ///< nullopt: not known
    bool at_least = false;          ///< the value may be more
    bool passed = false;
    std::string reason;  ///< why it is not known, or only at least; "" else

    /// "bandwidth.requested_bytes {space: global} is 12.6 MB, at most 5.00 MB".
    std::string text() const;
};

/// Values of counters that match are added; of figures that can't be (a rate, a share) each must hold, and the worst
/// one is given. What is not known never passes; what is "at least" passes only at_least.
std::vector<ExpectationResult> evaluate(const std::vector<Expectation>& expectations, const SessionView& view,
                                        double elapsed_s);

/// {"metric", "where", "at_least" or another bound, "unit", "value", "complete", "passed", "reason", "probe_set"}.
nlohmann::ordered_json to_json(const ExpectationResult& result);

}  // namespace egpu::host
