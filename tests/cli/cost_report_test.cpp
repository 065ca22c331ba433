// SPDX-License-Identifier: Apache-2.0
// What egpu run says of its own cost, and what it does not say.
#include "cli/cost_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "cli/run_report.hpp"
#include "host/export/summary.hpp"

namespace egpu::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

host::LaunchTimes times(std::uint64_t pairs, std::uint64_t original_ns, double ratio) {
    host::LaunchTimes sums;
    sums.pairs = pairs;
    sums.original_ns = pairs * original_ns;
    sums.instrumented_ns = static_cast<std::uint64_t>(static_cast<double>(pairs * original_ns) * ratio);
    const auto n = static_cast<double>(pairs);
    sums.log_ratio = n * std::log(ratio);
    sums.log_ratio_squares = n * std::log(ratio) * std::log(ratio) + 0.04 * 0.04 * n;
    return sums;
}

// A run on a GPU of so many kernels, each with a copy.
host::SessionView view_on_gpu(std::vector<host::LaunchTimes> of_copies) {
    host::SessionView view;
    view.agent_pid = 1;
    view.device_name = "NVIDIA H200";
    view.catalogue.maps.resize(1);
    view.catalogue.probes.resize(1);
    view.catalogue.probes[0].probe = "bandwidth";
    for (std::size_t i = 0; i < of_copies.size(); ++i) {
        host::Kernel kernel;
        kernel.id = static_cast<std::uint32_t>(i) + 1;
        kernel.name = "kernel_" + std::to_string(i + 1);
        kernel.state = host::KernelState::instrumented;
        view.catalogue.kernels.push_back(kernel);
        view.catalogue.copies.push_back({kernel.id, {0}});
        host::KernelCounts& counts = view.counts.emplace_back();
        counts.launches = 200;
        counts.instrumented = 110;
        counts.left_out = 90;
    }
    view.copy_times = std::move(of_copies);
    view.most_gpu_memory_bytes = 12u << 20;
    return view;
}

TEST(CostReport, SaysThatOverheadWasNotMeasured) {
    host::SessionView view = view_on_gpu({{}});
    view.waits = 3;
    view.waited_ns = 84'000'000;
    view.longest_wait_ns = 60'000'000;
    EXPECT_THAT(cost_report(view),
                ElementsAre("3 calls of the application waited 84.0 ms for egpu, the longest 60.0 ms; "
                            "12 MiB of GPU memory used; overhead not measured (--overhead)"));
    view.waits = 1;
    EXPECT_THAT(cost_report(view)[0], HasSubstr("one call of the application waited 84.0 ms for egpu; 12 MiB"));
    view.waits = 0;
    view.most_gpu_memory_bytes = 0;
    view.counts[0].instrumented = 0;
    EXPECT_THAT(cost_report(view), ElementsAre("no call of the application waited 1 ms for egpu"));
}

TEST(CostReport, KernelsThatTookLongestComeFirst) {
    host::SessionView view = view_on_gpu({times(64, 61'200, 1.12),
                                          times(3, 1'000'000, 2),
                                          times(500, 200'000, 1.5),
                                          times(6, 1'000, 1),
                                          times(7, 1'000, 1),
                                          {}});
    view.catalogue.measure_overhead = true;
    EXPECT_THAT(cost_report(view),
                ElementsAre("overhead: kernel_3 1.500x \u00b1 0.005 (500 pairs), 200.0 us -> 300.0 us a launch",
                            "overhead: kernel_1 1.12x \u00b1 0.01 (64 pairs), 61.2 us -> 68.5 us a launch",
                            "overhead: kernel_5 1.00x \u00b1 0.04 (7 pairs), 1.00 us -> 1.00 us a launch",
                            "overhead: kernel_4 1.00x \u00b1 0.05 (6 pairs), 1.00 us -> 1.00 us a launch",
                            "  (2 more: --summary FILE lists all)",
                            "no call of the application waited 1 ms for egpu; 12 MiB of GPU memory used"));
}

TEST(CostReport, FewPairsAreNoFigure) {
    host::SessionView view = view_on_gpu({times(4, 61'200, 1.12)});
    view.catalogue.measure_overhead = true;
    EXPECT_EQ(cost_report(view)[0], "overhead: kernel_1 n/a: only 4 pairs");
    view.counts[0].instrumented = 0;
    EXPECT_EQ(cost_report(view)[0], "overhead: n/a: no launch ran an instrumented copy");
}

TEST(CostReport, WithoutProbesThereIsNothingToMeasure) {
    host::SessionView view = view_on_gpu({});
    view.catalogue.maps.clear();
    view.most_gpu_memory_bytes = 0;
    EXPECT_THAT(cost_report(view), ElementsAre("no call of the application waited 1 ms for egpu"));
    view.catalogue.measure_overhead = true;
    EXPECT_EQ(cost_report(view)[0], "overhead: n/a: no launch ran an instrumented copy");
    view.device_name.clear();
    EXPECT_THAT(cost_report(view), IsEmpty()) << "it used no CUDA";
}

TEST(CostReport, NamesTheProbesWhereTheyChanged) {
    host::SessionView view = view_on_gpu({times(64, 61'200, 1.12)});
    view.catalogue.measure_overhead = true;
    view.catalogue.changes = 1;
    EXPECT_THAT(cost_report(view)[0], HasSubstr("a launch, with bandwidth"));
}

TEST(CostReport, OnTheSimulatedGpuThereIsNoTime) {
    host::SessionView view = view_on_gpu({times(64, 61'200, 1.12)});
    view.simulated = true;
    EXPECT_THAT(cost_report(view), IsEmpty());
    view.catalogue.measure_overhead = true;
    EXPECT_THAT(cost_report(view), ElementsAre("overhead: n/a: the simulated GPU knows no time"));
    EXPECT_THAT(host::summary_json(view, {}), HasSubstr("\"ratio\": null"));
}

TEST(CostReport, SaysHowManyLaunchesRanTheOriginalToBeCompared) {
    host::SessionView view = view_on_gpu({times(64, 61'200, 1.12)});
    view.catalogue.measure_overhead = true;
    EXPECT_THAT(run_report(view, {})[0],
                HasSubstr("200 launches, 110 of them instrumented (--overhead: 90 ran the original, to be compared)"));
    EXPECT_THAT(completeness_warnings(view), testing::SizeIs(1)) << "only that there was no final copy";
    EXPECT_FALSE(view.complete()) << "totals are not of all launches";
}

TEST(CostReport, TheSummaryHasTheFigures) {
    host::SessionView view = view_on_gpu({times(64, 61'200, 1.12)});
    view.catalogue.measure_overhead = true;
    view.waits = 2;
    view.waited_ns = 84'000'000;
    view.longest_wait_ns = 60'000'000;
    const std::string text = host::summary_json(view, {});
    for (const char* part :
         {"\"ratio\": 1.12", "\"ratio_low\": 1.10", "\"ratio_high\": 1.13", "\"original_ns\": 61200.0", "\"pairs\": 64",
          "\"measure_overhead\": true", "\"calls\": 2", "\"total_ns\": 84000000", "\"longest_ns\": 60000000",
          "\"launches_left_out\": 90", "\"gpu_memory_bytes\": 12582912"})
        EXPECT_THAT(text, HasSubstr(part));
    view.catalogue.measure_overhead = false;
    EXPECT_THAT(host::summary_json(view, {}), HasSubstr("\"overhead\": null"));
}

}  // namespace
}  // namespace egpu::cli
