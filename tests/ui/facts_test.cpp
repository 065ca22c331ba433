// SPDX-License-Identifier: Apache-2.0
// What the window's tables say of maps whose programs did not all run.
#include "ui/model/facts.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace egpu::ui {
namespace {

ebpf::TypeField field(const char* name, std::uint32_t offset) {
    ebpf::TypeField field;
    field.name = name;
    field.offset = offset;
    field.bytes = 8;
    return field;
}

/// An array of one value {entries, exits}, which on_entry and on_exit count; on_exit may be refused.
class TwoPrograms {
public:
    explicit TwoPrograms(bool entry_runs, bool exit_runs) {
        auto& catalogue = view_.catalogue;
        host::Map map;
        map.name = "threads/counts";
        map.definition.name = "counts";
        map.definition.type = ebpf::MapType::array;
        map.definition.key_bytes = 4;
        map.definition.value_bytes = 16;
        map.definition.max_entries = 1;
        map.definition.value.bytes = 16;
        map.definition.value.fields = {field("entries", 0), field("exits", 8)};
        catalogue.maps = {map};
        catalogue.kernels.resize(1);
        catalogue.kernels[0].id = 1;
        catalogue.kernels[0].state = host::KernelState::instrumented;
        catalogue.probes = {program("on_entry", entry_runs, 0), program("on_exit", exit_runs, 8)};
        host::Copy copy;
        copy.kernel_id = 1;
        if (entry_runs)
            copy.probes.push_back(0);
        if (exit_runs)
            copy.probes.push_back(1);
        catalogue.copies = {copy};
        view_.counts.resize(1);
        view_.counts[0].launches = 3;
        view_.counts[0].instrumented = copy.probes.empty() ? 0 : 3;
        view_.copies.resize(1);
        view_.copies[0].launches = view_.counts[0].instrumented;
        view_.drained = true;
        host::MapData data;
        data.map = &catalogue.maps[0];
        data.layout.value_bytes = data.layout.stride = 16;
        data.layout.capacity = 1;
        data.slots = 1;
        data.age_ns = 0;
        const std::uint64_t values[] = {96, 0};
        data.values.resize(sizeof values);
        std::memcpy(data.values.data(), values, sizeof values);
        view_.maps = {data};
    }

    MapRows rows() const { return facts_of(view_, {}).maps.at(0); }

private:
    static host::Probe program(const char* name, bool runs, std::uint32_t byte) {
        host::Probe probe;
        probe.probe = "threads";
        probe.program = name;
        probe.state = runs ? host::ProbeState::attached : host::ProbeState::refused;
        host::MapUse use;
        use.map = 0;
        if (runs)
            use.written = {{byte, byte + 8}};
        probe.maps = {use};
        return probe;
    }

    host::SessionView view_;
};

TEST(Facts, WhatEachProgramCountedIsShown) {
    const MapRows rows = TwoPrograms(true, true).rows();
    ASSERT_EQ(rows.rows.size(), 1u);
    EXPECT_EQ(rows.rows[0], (std::vector<std::string>{"96", "0"}));
    EXPECT_EQ(rows.note, "1 row; totals since the session began");
}

TEST(Facts, AFieldThatOnlyARefusedProgramWouldCountIsUnknown) {
    const MapRows rows = TwoPrograms(true, false).rows();
    ASSERT_EQ(rows.rows.size(), 1u);
    EXPECT_EQ(rows.rows[0], (std::vector<std::string>{"96", "n/a"})) << "0 would be a number that nobody counted";
    EXPECT_EQ(rows.note, "1 row; at least: program on_exit was refused");
}

TEST(Facts, AMapThatNobodyCountedHasNoRows) {
    const MapRows rows = TwoPrograms(false, false).rows();
    EXPECT_TRUE(rows.rows.empty());
    EXPECT_EQ(rows.note, "n/a: programs on_entry and on_exit were refused");
}

}  // namespace
}  // namespace egpu::ui
