// SPDX-License-Identifier: Apache-2.0
// Figures of kernels that come from times of launches.
#include "host/findings/metrics.hpp"

#include <gtest/gtest.h>

namespace egpu::host {
namespace {

SessionView two_kernels() {
    SessionView view;
    view.catalogue.kernels.resize(2);
    view.catalogue.kernels[0].id = 1;
    view.catalogue.kernels[1].id = 2;
    view.catalogue.copies = {
        {.kernel_id = 1, .probes = {}}, {.kernel_id = 2, .probes = {}}, {.kernel_id = 1, .probes = {}}};
    view.counts.resize(2);
    return view;
}

TEST(LaunchTimesOfKernels, AreMeansOverAllTheirCopies) {
    SessionView view = two_kernels();
    LaunchTimes first, third;
    first.single_launches = 3;
    first.single_ns = 3000;
    third.single_launches = 1;
    third.single_ns = 5000;
    view.copy_times = {first, {}, third};
    const auto metrics = kernel_metrics(view);
    ASSERT_TRUE(metrics.at(1).launch_ns);
    EXPECT_DOUBLE_EQ(*metrics.at(1).launch_ns, 2000);
    EXPECT_EQ(metrics.at(1).timed_launches, 4u);
    EXPECT_FALSE(metrics.at(1).bytes_per_second) << "nobody counted bytes";
    EXPECT_FALSE(metrics.contains(2)) << "unknown, not 0";
}

TEST(LaunchTimesOfKernels, PairsCountToo) {
    SessionView view = two_kernels();
    LaunchTimes times;
    times.pairs = 2;
    times.original_ns = 100;
    times.instrumented_ns = 300;
    view.copy_times = {{}, times, {}};
    const auto metrics = kernel_metrics(view);
    EXPECT_DOUBLE_EQ(metrics.at(2).launch_ns.value(), 150);
    EXPECT_EQ(metrics.at(2).timed_launches, 2u);
}

TEST(LaunchTimesOfKernels, WithoutAnyThereAreNone) {
    SessionView view = two_kernels();
    EXPECT_TRUE(kernel_metrics(view).empty());
    view.copy_times.resize(3);
    EXPECT_TRUE(kernel_metrics(view).empty());
}

}  // namespace
}  // namespace egpu::host
