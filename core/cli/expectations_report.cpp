// SPDX-License-Identifier: Apache-2.0
#include "cli/expectations_report.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cli/terminal.hpp"

namespace egpu::cli {

bool say_expectations(const std::vector<host::ExpectationResult>& results, bool failed_only) {
    if (results.empty())
        return true;
    const auto failed = static_cast<std::size_t>(
        std::count_if(results.begin(), results.end(), [](const auto& result) { return !result.passed; }));
    if (!failed_only) {
        std::string text = "\n";
        text += failed == 0 ? fmt::format("expect: {} of {} met\n", results.size(), results.size())
                            : fmt::format("expect: {} of {} failed\n", failed, results.size());
        for (const auto& result : results)
            if (result.passed)
                text += fmt::format("  ok    {}\n", result.text());
        say(text);
    }
    for (const auto& result : results)
        if (!result.passed)
            say(host::problem_at(result.expectation.metric.place, "EGPU-S040",
                                 fmt::format("expectation failed: {}", result.text())));
    return failed == 0;
}

}  // namespace egpu::cli
