// SPDX-License-Identifier: Apache-2.0
// Uncoalesced access: requests that touch many more sectors than their bytes need. A warp of 32 lanes that read 4 bytes
// each needs 4 sectors of 32 bytes; a stride of 32 bytes or more makes it 32.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "host/findings/findings.hpp"
#include "host/findings/metrics.hpp"

namespace egpu::host {
namespace {

constexpr double kSectorBytes = 32;
constexpr double kUseBelow = 0.5;           ///< finding where less of each sector is used
constexpr double kSectorsPerRequest = 4.0;  ///< ... and requests touch more than a full warp of 4-byte lanes needs

std::string whole_or_decimal(double value) {
    return std::abs(value - std::round(value)) < 0.05 ? fmt::format("{:.0f}", value) : fmt::format("{:.1f}", value);
}

struct Wording {
    const char* does;
    const char* access;
    const char* advice;
};

Wording wording_of(const Site& site) {
    if (site.opcode.starts_with("st"))
        return {"writes", "store", "write"};
    if (site.opcode.starts_with("ld"))
        return {"reads", "load", "read"};
    return {"updates", "atomic", "update"};
}

}  // namespace

std::vector<Finding> find_uncoalesced_access(const SessionView& view) {
    std::vector<Finding> findings;
    for (const auto& site : site_metrics(view)) {
        const Site* record = view.catalogue.site(site.site_id);
        if (record == nullptr || site.requests == 0 || site.sectors == 0 || !site.requested_bytes)
            continue;
        const double per_request = static_cast<double>(site.sectors) / static_cast<double>(site.requests);
        const double use =
            static_cast<double>(*site.requested_bytes) / (kSectorBytes * static_cast<double>(site.sectors));
        if (use >= kUseBelow || per_request <= kSectorsPerRequest)
            continue;
        const Kernel* kernel = view.catalogue.kernel(record->kernel_id);
        Finding finding;
        finding.id = "uncoalesced-access";
        finding.kernel_id = record->kernel_id;
        finding.place = record->place();
        finding.weight = static_cast<double>(site.sectors) * (1 - use);
        const Wording words = wording_of(*record);
        finding.text = fmt::format(
            "{} {} uncoalesced{}: a warp's {} touches {} sectors and uses {} of 32 bytes in each. "
            "Let neighbouring threads {} neighbouring elements.",
            kernel != nullptr ? kernel->name : "a kernel", words.does,
            finding.place.empty() ? std::string() : fmt::format(" ({})", finding.place), words.access,
            whole_or_decimal(per_request), whole_or_decimal(use * kSectorBytes), words.advice);
        if (!site.sampling.is_all())
            finding.text += fmt::format(" Counted in {}.", to_words(site.sampling));
        findings.push_back(std::move(finding));
    }
    return findings;
}

}  // namespace egpu::host
