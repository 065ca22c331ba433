// SPDX-License-Identifier: Apache-2.0
#include "host/probesets/merge.hpp"

#include <gtest/gtest.h>

namespace egpu::host {
namespace {

ProbeSet with_launches(std::uint64_t skip, std::optional<std::uint64_t> count) {
    ProbeSet set;
    set.launches = Placed<LaunchWindow>{{skip, count}, {}};
    return set;
}

TEST(LayOver, LaunchesNarrow) {
    const struct {
        LaunchWindow base, over;
        std::optional<LaunchWindow> both;
    } rows[] = {
        {{0, {}}, {20, 500}, LaunchWindow{20, 500}},
        {{20, 500}, {0, {}}, LaunchWindow{20, 500}},
        {{20, 500}, {100, 20}, LaunchWindow{100, 20}},
        {{20, 500}, {100, 5000}, LaunchWindow{100, 420}},
        {{100, {}}, {0, 200}, LaunchWindow{100, 100}},
        {{0, 10}, {10, {}}, std::nullopt},
        {{50, 1}, {0, 50}, std::nullopt},
    };
    for (const auto& row : rows) {
        ProbeSet base = with_launches(row.base.skip, row.base.count);
        std::vector<Diagnostic> problems;
        lay_over(base, with_launches(row.over.skip, row.over.count), problems);
        EXPECT_EQ(problems.empty(), row.both.has_value());
        if (row.both) {
            EXPECT_EQ(base.launches->value, *row.both);
        }
    }
}

TEST(LayOver, WhatTheUpperOneDoesNotSayStays) {
    ProbeSet base = with_launches(1, 2), over;
    base.wait_ns = {5, {}};
    base.strict = {true, {}};
    base.description = "base";
    over.name = "over";
    over.strict = {false, {}};
    std::vector<Diagnostic> problems;
    lay_over(base, over, problems);
    EXPECT_EQ(base.name, "over");
    EXPECT_EQ(base.description, "base");
    EXPECT_EQ(base.wait_ns->value, 5u);
    EXPECT_FALSE(base.strict->value);
    EXPECT_EQ(base.launches->value, (LaunchWindow{1, 2}));
}

}  // namespace
}  // namespace egpu::host
