// SPDX-License-Identifier: Apache-2.0
// Programs that the verifier accepts give the same in the reference interpreter and as PTX on the simulated GPU
// (tests/inject/differential). EGPU_FUZZ_STATISTICS=1 prints at the end how many were accepted and compared.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>

#include "../inject/differential/differential.hpp"

namespace {

struct Report {
    egpu::inject::testing::DifferentialStatistics statistics;
    ~Report() {
        if (std::getenv("EGPU_FUZZ_STATISTICS") == nullptr)
            return;
        std::fprintf(stderr, "%s", statistics.text().c_str());
    }
};
Report report;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto wrong = egpu::inject::testing::disagreement(std::span(data, size), report.statistics);
    if (wrong) {
        std::fprintf(stderr, "%s", wrong->c_str());
        std::abort();
    }
    return 0;
}
