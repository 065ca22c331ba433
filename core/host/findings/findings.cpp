// SPDX-License-Identifier: Apache-2.0
#include "host/findings/findings.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace egpu::host {

std::vector<Finding> reported_findings(const SessionView& view) {
    std::vector<Finding> findings;
    for (const auto& reported : view.catalogue.findings) {
        const Kernel* kernel = view.catalogue.kernel(reported.kernel_id);
        const Site* site = view.catalogue.site(reported.site_id);
        Finding finding;
        finding.id = reported.id;
        finding.severity = reported.severity;
        finding.plugin = reported.plugin;
        finding.kernel_id = kernel != nullptr ? kernel->id : site != nullptr ? site->kernel_id : 0;
        finding.place = site != nullptr ? site->place() : "";
        kernel = view.catalogue.kernel(finding.kernel_id);
        finding.text = fmt::format("{}{}: {} ({})", kernel != nullptr ? kernel->name : "the application",
                                   finding.place.empty() ? "" : fmt::format(" ({})", finding.place), reported.text,
                                   reported.plugin);
        // The plugin's code sees its maps, not of how much they are.
        if (const Sampling sampling = view.catalogue.sampling_of(reported.plugin); !sampling.is_all())
            finding.text += fmt::format(", counted in {}", to_words(sampling));
        findings.push_back(std::move(finding));
    }
    return findings;
}

std::vector<Finding> find_all(const SessionView& view) {
    auto findings = find_uncoalesced_access(view);
    for (auto& reported : reported_findings(view))
        findings.push_back(std::move(reported));
    std::stable_sort(findings.begin(), findings.end(), [](const Finding& left, const Finding& right) {
        return left.severity != right.severity ? left.severity > right.severity : left.weight > right.weight;
    });
    return findings;
}

}  // namespace egpu::host
