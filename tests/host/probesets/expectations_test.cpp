// SPDX-License-Identifier: Apache-2.0
// What passes and what does not, where the session saw less than everything.
#include "host/export/expectations.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/export/metrics_json.hpp"

namespace egpu::host {
namespace {

KernelCounts launched(std::uint64_t launches, std::uint64_t instrumented) {
    KernelCounts counts;
    counts.launches = launches;
    counts.instrumented = instrumented;
    return counts;
}

ebpf::TypeField scalar(std::uint32_t bytes, ebpf::Role role) {
    ebpf::TypeField field;
    field.bytes = bytes;
    field.role = role;
    return field;
}

/// Two kernels, ten launches each, all counted by a probe "p" with one map of bytes by kernel: 100 and 40.
SessionView counted_session() {
    SessionView view;
    view.agent_pid = 1;
    view.drained = true;
    auto& catalogue = view.catalogue;
    for (const std::uint32_t id : {1U, 2U}) {
        Kernel kernel;
        kernel.id = id;
        kernel.name = kernel.mangled = id == 1 ? "first" : "second";
        kernel.state = KernelState::instrumented;
        kernel.copy = id;
        catalogue.kernels.push_back(kernel);
        catalogue.copies.push_back({id, {0}});
        view.counts.push_back(launched(10, 10));
        view.copies.emplace_back().launches = 10;
    }
    Probe probe;
    probe.probe = "p";
    probe.program = "count";
    probe.state = ProbeState::attached;
    catalogue.probes.push_back(probe);
    Map map;
    map.name = "p/bytes";
    map.definition.name = "bytes";
    map.definition.type = ebpf::MapType::hash;
    map.definition.key_bytes = 4;
    map.definition.value_bytes = 8;
    map.definition.max_entries = 8;
    map.definition.key.bytes = 4;
    map.definition.key.fields = {scalar(4, ebpf::Role::kernel_id)};
    map.definition.value.bytes = 8;
    map.definition.value.fields = {scalar(8, ebpf::Role::bytes)};
    catalogue.maps.push_back(map);
    return view;
}

/// With the map's bytes: `view` must not move afterwards.
void fill(SessionView& view) {
    MapData data;
    data.map = &view.catalogue.maps[0];
    data.layout = maps::make_layout(8, 8, false, 1);
    data.slots = 2;
    data.age_ns = 0;
    const std::uint32_t keys[] = {1, 2};
    data.keys.resize(sizeof keys);
    std::memcpy(data.keys.data(), keys, sizeof keys);
    data.values.resize(std::size_t{data.layout.stride} * data.slots);
    const std::uint64_t values[] = {100, 40};
    for (std::size_t i = 0; i < 2; ++i)
        std::memcpy(data.values.data() + i * data.layout.stride, &values[i], 8);
    view.maps.push_back(std::move(data));
}

Expectation expectation(Bound bound, Quantity value, const std::string& kernel = {}) {
    Expectation made;
    made.metric.value = "p.bytes";
    if (!kernel.empty())
        made.where.emplace_back(Text{"kernel", {}}, Text{kernel, {}});
    made.bound = bound;
    made.value.value = value;
    made.dimension = Dimension::bytes;
    return made;
}

ExpectationResult judge(const SessionView& view, const Expectation& wanted) {
    return evaluate({wanted}, view, 1.5).at(0);
}

TEST(Expectations, OfACounterAreOfTheSum) {
    SessionView view = counted_session();
    fill(view);
    EXPECT_TRUE(judge(view, expectation(Bound::equals, 140)).passed);
    EXPECT_TRUE(judge(view, expectation(Bound::at_most, 140)).passed);
    EXPECT_FALSE(judge(view, expectation(Bound::at_most, 139)).passed);
    EXPECT_FALSE(judge(view, expectation(Bound::at_least, 141)).passed);
    EXPECT_TRUE(judge(view, expectation(Bound::equals, 40, "sec*")).passed);
    EXPECT_EQ(judge(view, expectation(Bound::at_least, 141)).text(), "p.bytes is 140 B, expected at least 141 B");
}

TEST(Expectations, WhatFailsShowsDigitsThatDiffer) {
    SessionView view = counted_session();
    fill(view);
    const std::uint64_t large = 12'582'913;
    std::memcpy(view.maps[0].values.data(), &large, 8);
    EXPECT_EQ(judge(view, expectation(Bound::at_most, 12'582'912, "first")).text(),
              "p.bytes {kernel: first} is 12 582 913 B, expected at most 12 582 912 B");
    EXPECT_EQ(judge(view, expectation(Bound::at_most, 5'000'000, "first")).text(),
              "p.bytes {kernel: first} is 12.6 MB, expected at most 5.00 MB");
    view.drained = false;
    EXPECT_EQ(
        judge(view, expectation(Bound::equals, 12'582'914, "first")).text(),
        "p.bytes {kernel: first} is at least 12 582 913 B (the maps were not copied at the end), expected exactly "
        "12 582 914 B");
}

TEST(Expectations, ATotalThatMayBeMorePassesAtLeastOnly) {
    const struct {
        const char* what;
        std::function<void(SessionView&)> harm;
    } rows[] = {
        {"no final copy", [](SessionView& view) { view.drained = false; }},
        {"a full map", [](SessionView& view) { view.maps[0].refused_keys = 1; }},
        {"unseen kernels", [](SessionView& view) { view.unknown_launches = 1; }},
        {"another process", [](SessionView& view) { view.other_processes = 1; }},
        {"launches of the original", [](SessionView& view) { view.counts[0].launches = 11; }},
        {"a sample",
         [](SessionView& view) {
             view.counts[0].launches = 20;
             view.counts[0].left_out = 10;
             view.catalogue.sample_launches = 2;
         }},
        {"a sample of warps",
         [](SessionView& view) {
             view.catalogue.probes[0].sampling = {Sampling::Unit::warps, 64};
         }},
        {"a kernel out of reach",
         [](SessionView& view) {
             view.catalogue.kernels.push_back(view.catalogue.kernels[0]);
             auto& kernel = view.catalogue.kernels.back();
             kernel.id = 3;
             kernel.copy = 0;
             kernel.mangled = kernel.name = "third";
             kernel.state = KernelState::no_ptx;
             view.counts.push_back(launched(1, 0));
         }},
    };
    for (const auto& row : rows) {
        SessionView view = counted_session();
        fill(view);
        row.harm(view);
        const auto most = judge(view, expectation(Bound::at_most, 1000));
        EXPECT_FALSE(most.passed) << row.what;
        EXPECT_TRUE(most.at_least) << row.what;
        EXPECT_FALSE(most.reason.empty()) << row.what;
        EXPECT_FALSE(judge(view, expectation(Bound::equals, 140)).passed) << row.what;
        EXPECT_TRUE(judge(view, expectation(Bound::at_least, 140)).passed) << row.what;
        EXPECT_FALSE(to_json(most).at("complete").get<bool>()) << row.what;
    }
}

TEST(Expectations, LaunchesThatWereChosenAreAll) {
    SessionView view = counted_session();
    fill(view);
    view.counts[0].launches = 20;
    view.counts[0].left_out = 10;
    view.catalogue.launch_count = 10;
    EXPECT_TRUE(judge(view, expectation(Bound::equals, 140)).passed);
}

TEST(Expectations, AKernelThatNoProbeAskedForIsNoLoss) {
    SessionView view = counted_session();
    view.catalogue.probes[0].selections = {{{"first", "second"}, {}}};
    view.catalogue.kernels.push_back(view.catalogue.kernels[0]);
    view.catalogue.kernels.back().id = 3;
    view.catalogue.kernels.back().copy = 0;
    view.catalogue.kernels.back().mangled = "third";
    view.catalogue.kernels.back().state = KernelState::refused;
    view.counts.push_back(launched(1, 0));
    fill(view);
    EXPECT_TRUE(judge(view, expectation(Bound::equals, 140)).passed);
}

TEST(Expectations, WhatIsNotThereIsNothingWhereAllWasSeen) {
    SessionView view = counted_session();
    fill(view);
    view.maps[0].slots = 1;
    EXPECT_TRUE(judge(view, expectation(Bound::equals, 0, "second")).passed) << "it ran, and counted nothing";
    view.drained = false;
    EXPECT_FALSE(judge(view, expectation(Bound::equals, 0, "second")).passed);
}

TEST(Expectations, TheUnknownNeverPasses) {
    const struct {
        const char* why;
        std::function<void(SessionView&)> harm;
    } rows[] = {
        {"the application used no CUDA", [](SessionView& view) { view.agent_pid = 0; }},
        {"no kernel was launched",
         [](SessionView& view) {
             view.counts = {{}, {}};
             view.copies = {{}, {}};
         }},
        {"probe p ran nowhere",
         [](SessionView& view) {
             view.copies = {{}, {}};
         }},
    };
    for (const auto& row : rows) {
        SessionView view = counted_session();
        fill(view);
        row.harm(view);
        for (const Bound bound : {Bound::at_least, Bound::at_most, Bound::equals}) {
            const auto result = judge(view, expectation(bound, 0));
            EXPECT_FALSE(result.passed) << row.why;
            EXPECT_EQ(result.reason, row.why);
            EXPECT_TRUE(to_json(result).at("value").is_null()) << row.why;
        }
    }
}

TEST(Expectations, OfTheSession) {
    SessionView view = counted_session();
    fill(view);
    const auto value = [&](const char* metric, Dimension dimension) {
        Expectation wanted;
        wanted.metric.value = metric;
        wanted.dimension = dimension;
        return judge(view, wanted).value;
    };
    view.maps[0].refused_keys = 3;
    view.most_gpu_memory_bytes = 77;
    EXPECT_EQ(value("session.launches", Dimension::number), 20);
    EXPECT_EQ(value("session.kernels", Dimension::number), 2);
    EXPECT_EQ(value("session.refused_keys", Dimension::number), 3);
    EXPECT_EQ(value("session.gpu_memory", Dimension::bytes), 77);
    EXPECT_EQ(value("session.elapsed", Dimension::duration), 1.5e9L);
    view.agent_pid = 0;
    EXPECT_EQ(value("session.launches", Dimension::number), std::nullopt);
    EXPECT_EQ(value("session.elapsed", Dimension::duration), 1.5e9L);
}

TEST(Expectations, ValuesOfOverAMillionBillionAreExact) {
    SessionView view = counted_session();
    fill(view);
    const std::uint64_t large = (std::uint64_t{1} << 60) + 1;
    std::memcpy(view.maps[0].values.data(), &large, 8);
    EXPECT_TRUE(judge(view, expectation(Bound::equals, static_cast<Quantity>(large), "first")).passed);
    EXPECT_FALSE(judge(view, expectation(Bound::equals, static_cast<Quantity>(large - 1), "first")).passed);
}

}  // namespace
}  // namespace egpu::host
