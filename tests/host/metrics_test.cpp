// SPDX-License-Identifier: Apache-2.0
// Figures of kernels that come from times of launches.
#include "host/findings/metrics.hpp"

#include <gtest/gtest.h>

#include "fake_source.hpp"

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

/// As kernel-times has it.
Map times_map(const char* time_field, ebpf::Role role) {
    Map map;
    map.name = "mine/times";
    auto& definition = map.definition;
    definition.name = "times";
    definition.type = ebpf::MapType::percpu_hash;
    definition.key_bytes = definition.key.bytes = 4;
    definition.value_bytes = definition.value.bytes = 16;
    definition.max_entries = 64;
    definition.key.fields = {testing::field("", 0, 4, ebpf::Role::kernel_id)};
    definition.value.fields = {testing::field("launches", 0, 8, ebpf::Role::count),
                               testing::field(time_field, 8, 8, role)};
    return map;
}

SessionView followed(const char* time_field = "kernel_time", ebpf::Role role = ebpf::Role::nanoseconds) {
    return testing::session_view({times_map(time_field, role)}, {"mine"});
}

TEST(GpuTime, IsThatOfTheLaunchesThatWereFollowed) {
    SessionView view = followed();
    view.maps[0].map = view.catalogue.maps.data();
    testing::set_entry(view, 0, {1}, {20, 60'000});
    testing::set_entry(view, 0, {2}, {0, 0});
    const auto metrics = kernel_metrics(view);
    EXPECT_EQ(metrics.at(1).gpu_ns.value(), 60'000u);
    EXPECT_EQ(metrics.at(1).gpu_launches, 20u);
    EXPECT_FALSE(metrics.contains(2) && metrics.at(2).gpu_ns) << "unknown, not 0";
    EXPECT_TRUE(feeds_metrics(view, view.maps[0]));
}

TEST(GpuTime, IsNotKnownToTheSimulatedGpu) {
    SessionView view = followed();
    view.maps[0].map = view.catalogue.maps.data();
    view.simulated = true;
    testing::set_entry(view, 0, {1}, {20, 60'000});
    EXPECT_FALSE(kernel_metrics(view).contains(1));
    EXPECT_FALSE(feeds_metrics(view, view.maps[0]));
}

TEST(GpuTime, IsAFieldOfItsNameInNanoseconds) {
    for (const auto& [name, role] : {std::pair{"time", ebpf::Role::nanoseconds}, {"kernel_time", ebpf::Role::cycles}}) {
        SessionView view = followed(name, role);
        view.maps[0].map = view.catalogue.maps.data();
        testing::set_entry(view, 0, {1}, {20, 60'000});
        EXPECT_FALSE(kernel_metrics(view).contains(1)) << name;
    }
}

/// Bytes that one warp in 64 asked for are not those that the kernel asked for.
TEST(Traffic, IsNotKnownOfAPart) {
    SessionView view = testing::session_view({testing::traffic_map("bandwidth")}, {"bandwidth"});
    view.maps[0].map = view.catalogue.maps.data();
    view.drained = true;
    testing::launch(view, 1, 4);
    testing::set_entry(view, 0, {1, 0, 0}, {4096, 1024});
    ASSERT_TRUE(traffic_source(view));
    view.catalogue.probes[0].sampling = {Sampling::Unit::warps, 64};
    EXPECT_FALSE(traffic_source(view));
    EXPECT_FALSE(feeds_metrics(view, view.maps[0]));
    const auto metrics = kernel_metrics(view);
    EXPECT_FALSE(metrics.contains(1) && metrics.at(1).read_bytes);
    view.catalogue.probes[0].sampling = {Sampling::Unit::warps, 1};
    EXPECT_TRUE(traffic_source(view)) << "one in one is all";
}

TEST(Traffic, IsAtLeastWhereAProgramCountsAPartOfWhatTheKernelDoes) {
    SessionView view = testing::session_view({testing::traffic_map("bandwidth")}, {"bandwidth"});
    view.maps[0].map = view.catalogue.maps.data();
    view.drained = true;
    testing::launch(view, 1, 4);
    testing::launch(view, 2, 4);
    testing::set_entry(view, 0, {1, 0, 0}, {4096, 1024});
    EXPECT_FALSE(kernel_metrics(view).at(1).at_least);
    // "vector_add: 3 asynchronous copies (cp.async) are not counted at 'mem'"
    view.catalogue.probes[0].in_part = {1};
    const auto metrics = kernel_metrics(view);
    EXPECT_EQ(metrics.at(1).read_bytes.value(), 4096u);
    EXPECT_TRUE(metrics.at(1).at_least);
    EXPECT_FALSE(metrics.at(2).at_least) << "another kernel";
}

}  // namespace
}  // namespace egpu::host
