// SPDX-License-Identifier: Apache-2.0
// Calls into a plugin's code, and what it is given.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "base/files.hpp"
#include "host/plugins/calls/caller.hpp"
#include "host/plugins/calls/services.hpp"
#include "maps/layout/layout.hpp"

namespace egpu::host {
namespace {

using namespace std::chrono_literals;

TEST(CallThread, ACallThatComesBackIsFollowedByOthers) {
    CallThread thread;
    int value = 0;
    for (int i = 1; i <= 100; ++i) {
        ASSERT_TRUE(thread.run([&] { ++value; }, 10s));
        ASSERT_EQ(value, i);
    }
}

TEST(CallThread, ACallThatStaysIsLeftAndNothingIsCalledAfterIt) {
    const auto go = std::make_shared<std::atomic<bool>>(false);
    const auto called = std::make_shared<std::atomic<int>>(0);
    {
        CallThread thread;
        EXPECT_FALSE(thread.run(
            [go] {
                while (!*go)
                    std::this_thread::sleep_for(1ms);
            },
            10ms));
        EXPECT_FALSE(thread.run([called] { ++*called; }, 10ms));
    }
    // It comes back when all that waited for it are gone: what it used is still there.
    *go = true;
    for (int i = 0; i < 1000 && go.use_count() > 1; ++i)
        std::this_thread::sleep_for(1ms);
    EXPECT_EQ(go.use_count(), 1);
    EXPECT_EQ(*called, 0);
}

/// A session with one kernel, and one map that it filled in two shards.
struct Fixture {
    std::shared_ptr<ebpf::Object> object = std::make_shared<ebpf::Object>();
    std::shared_ptr<SessionView> view = std::make_shared<SessionView>();

    Fixture() {
        ebpf::MapDefinition map;
        map.name = "warps";
        map.type = ebpf::MapType::percpu_hash;
        map.key_bytes = 4;
        map.value_bytes = 8;
        map.max_entries = 16;
        map.key.bytes = 4;
        map.key.fields.resize(1);
        map.key.fields[0].bytes = 4;
        map.value.bytes = 8;
        map.value.fields.resize(1);
        map.value.fields[0].bytes = 8;
        object->maps.push_back(map);
        object->options.push_back({"limit", "unsigned int", "the most", 4, 4, false});
        object->constants.resize(8);
        const std::uint32_t limit = 77;
        std::memcpy(object->constants.data() + 4, &limit, sizeof limit);
        Kernel kernel;
        kernel.id = 1;
        kernel.name = "vector_add";
        kernel.state = KernelState::instrumented;
        view->catalogue.kernels.push_back(kernel);
        view->catalogue.sites.push_back({1, 1, "add.cu", 12, "ld.global.f32", "vector_add"});
        view->counts.push_back({});
        view->counts[0].launches = 9;
        view->counts[0].instrumented = 8;
        view->sm_count = 4;
        view->device_name = "a device";
        view->catalogue.maps.push_back({"plugin/warps", map});
        MapData data;
        data.map = &view->catalogue.maps[0];
        data.layout = maps::make_layout(8, 16, true, 2);
        data.slots = 1;
        const std::uint32_t key = 1;
        data.keys.resize(4);
        std::memcpy(data.keys.data(), &key, sizeof key);
        const std::uint64_t shards[] = {30, 12};
        data.values.resize(sizeof shards);
        std::memcpy(data.values.data(), shards, sizeof shards);
        data.age_ns = 5;
        view->maps.push_back(data);
    }
};

template <typename T>
T sized() {
    T value{};
    value.struct_size = sizeof value;
    return value;
}

TEST(PluginServices, AMapIsSummedOverItsShards) {
    const Fixture fixture;
    ASSERT_EQ(fixture.view->maps[0].layout.shards, 2u);
    PluginServices services(fixture.view, fixture.object, "plugin");
    const auto& host = services.table();
    auto rows = sized<egpu_plugin_rows>();
    ASSERT_EQ(host.map(host.session, "warps", &rows), EGPU_PLUGIN_OK);
    ASSERT_EQ(rows.count, 1u);
    EXPECT_EQ(rows.key_bytes, 4u);
    EXPECT_EQ(rows.value_bytes, 8u);
    EXPECT_EQ(*static_cast<const std::uint32_t*>(rows.keys), 1u);
    EXPECT_EQ(*static_cast<const std::uint64_t*>(rows.values), 42u);
    EXPECT_EQ(rows.age_ns, 5u);
    EXPECT_EQ(host.map(host.session, "warp", &rows), EGPU_PLUGIN_NOT_FOUND);
    EXPECT_STREQ(host.last_error(host.session), "the object has no map 'warp'; did you mean 'warps'?");
}

TEST(PluginServices, KernelsSitesDeviceAndOptions) {
    const Fixture fixture;
    PluginServices services(fixture.view, fixture.object, "plugin");
    const auto& host = services.table();
    EXPECT_EQ(host.kernel_count(host.session), 1u);
    auto kernel = sized<egpu_plugin_kernel>();
    ASSERT_EQ(host.kernel(host.session, 1, &kernel), EGPU_PLUGIN_OK);
    EXPECT_STREQ(kernel.name, "vector_add");
    EXPECT_STREQ(kernel.state, "instrumented");
    EXPECT_EQ(kernel.launches, 9u);
    EXPECT_EQ(kernel.launches_instrumented, 8u);
    EXPECT_EQ(host.kernel(host.session, 2, &kernel), EGPU_PLUGIN_NOT_FOUND);
    EXPECT_EQ(host.kernel(host.session, 0, &kernel), EGPU_PLUGIN_NOT_FOUND);
    auto site = sized<egpu_plugin_site>();
    ASSERT_EQ(host.site(host.session, 1, &site), EGPU_PLUGIN_OK);
    EXPECT_STREQ(site.file, "add.cu");
    EXPECT_EQ(site.line, 12u);
    auto device = sized<egpu_plugin_device>();
    ASSERT_EQ(host.device(host.session, &device), EGPU_PLUGIN_OK);
    EXPECT_EQ(device.sm_count, 4u);
    EXPECT_STREQ(device.name, "a device");
    std::uint32_t limit = 0;
    ASSERT_EQ(host.option(host.session, "limit", &limit, sizeof limit), EGPU_PLUGIN_OK);
    EXPECT_EQ(limit, 77u);
    std::uint64_t wide = 0;
    EXPECT_EQ(host.option(host.session, "limit", &wide, sizeof wide), EGPU_PLUGIN_WRONG_SIZE);
    EXPECT_EQ(host.option(host.session, "limits", &limit, sizeof limit), EGPU_PLUGIN_NOT_FOUND);
    EXPECT_STREQ(host.last_error(host.session), "the object has no option 'limits'; did you mean 'limit'?");
}

/// A plugin that was built with shorter structs gets as much as it has room for, and its struct_size back.
TEST(PluginServices, AnOlderPluginsStructsAreNotOverrun) {
    const Fixture fixture;
    PluginServices services(fixture.view, fixture.object, "plugin");
    const auto& host = services.table();
    egpu_plugin_kernel kernel;
    std::memset(&kernel, 0x5a, sizeof kernel);
    kernel.struct_size = offsetof(egpu_plugin_kernel, module);
    ASSERT_EQ(host.kernel(host.session, 1, &kernel), EGPU_PLUGIN_OK);
    EXPECT_EQ(kernel.struct_size, offsetof(egpu_plugin_kernel, module));
    EXPECT_STREQ(kernel.name, "vector_add");
    EXPECT_EQ(kernel.launches, 0x5a5a5a5a5a5a5a5au);
}

TEST(PluginServices, FindingsAreCheckedBeforeTheyAreTaken) {
    const Fixture fixture;
    PluginServices services(fixture.view, fixture.object, "plugin");
    const auto& host = services.table();
    auto finding = sized<egpu_plugin_finding>();
    finding.id = "small-grid";
    finding.text = "few warps";
    finding.kernel = 1;
    finding.severity = EGPU_PLUGIN_WARNING;
    EXPECT_EQ(host.report(host.session, &finding), EGPU_PLUGIN_OK);
    finding.kernel = 5;
    EXPECT_EQ(host.report(host.session, &finding), EGPU_PLUGIN_NOT_FOUND);
    finding.kernel = 0;
    finding.severity = 9;
    EXPECT_EQ(host.report(host.session, &finding), EGPU_PLUGIN_FAILED);
    finding.severity = EGPU_PLUGIN_HINT;
    finding.text = nullptr;
    EXPECT_EQ(host.report(host.session, &finding), EGPU_PLUGIN_FAILED);
    finding.text = "few warps";
    finding.id = "Small Grid";
    EXPECT_EQ(host.report(host.session, &finding), EGPU_PLUGIN_FAILED);
    EXPECT_STREQ(host.last_error(host.session), "a finding's id 'Small Grid' is none: [a-z0-9-]+");
    const auto findings = services.take_findings();
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].plugin, "plugin");
    EXPECT_EQ(findings[0].severity, Severity::warning);
}

TEST(PluginCaller, CodeIsLoadedCalledAndItsFindingsCome) {
    const Fixture fixture;
    PluginCaller caller("plugin", EGPU_BINARY_DIR "/tests/plugins-bad/good.so", fixture.object, 30s);
    const auto started = caller.start();
    ASSERT_TRUE(started) << to_text(started.error());
    const auto findings = caller.on_snapshot(fixture.view);
    ASSERT_TRUE(findings) << to_text(findings.error());
    ASSERT_EQ(findings->size(), 1u);
    EXPECT_EQ(findings->front().text, "entered by 42 warps of 8 launches on a device");
    EXPECT_TRUE(caller.stop());
}

TEST(PluginCaller, WhatItThrowsIsSaidAndItIsNotCalledAgain) {
    const Fixture fixture;
    PluginCaller caller("plugin", EGPU_BINARY_DIR "/tests/plugins-bad/throws_in_run.so", fixture.object, 30s);
    ASSERT_TRUE(caller.start());
    const auto findings = caller.on_snapshot(fixture.view);
    ASSERT_FALSE(findings);
    EXPECT_NE(findings.error().message.find("can't make sense of this kernel"), std::string::npos);
    EXPECT_FALSE(caller.is_on());
}

TEST(PluginCaller, ACallThatBlocksIsLeft) {
    const Fixture fixture;
    PluginCaller caller("plugin", EGPU_BINARY_DIR "/tests/plugins-bad/blocks_in_run.so", fixture.object, 200ms);
    ASSERT_TRUE(caller.start());
    const auto findings = caller.on_snapshot(fixture.view);
    ASSERT_FALSE(findings);
    EXPECT_EQ(findings.error().code, "EGPU-X088");
    EXPECT_FALSE(caller.is_on());
}

}  // namespace
}  // namespace egpu::host
