// SPDX-License-Identifier: Apache-2.0
#include "ui/model/unit.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace egpu::ui {
namespace {

TEST(UnitText, PeopleReadPrefixes) {
    EXPECT_EQ(human_text(2.123456789e12, Unit::bytes_per_second), "2.12 TB/s");
    EXPECT_EQ(human_text(0, Unit::bytes_per_second), "0.00 B/s");
    EXPECT_EQ(human_text(999.7, Unit::per_second), "1.00 k/s");
    EXPECT_EQ(human_text(15'770, Unit::per_second), "15.8 k/s");
    EXPECT_EQ(human_text(63'400, Unit::nanoseconds), "63.4 us");
    EXPECT_EQ(human_text(512, Unit::cycles), "512 cycles");
    EXPECT_EQ(human_text(512, Unit::simulated_cycles), "512 cycles");
    EXPECT_EQ(human_text(63'400, Unit::simulated_nanoseconds), "63.4 us");
    EXPECT_EQ(human_text(-1500, Unit::number), "-1.50 k");
    EXPECT_EQ(human_text(7, Unit::number), "7");
}

TEST(UnitText, ExactTextHasEveryDigit) {
    EXPECT_EQ(exact_text(2'123'456'789, Unit::bytes_per_second), "2 123 456 789 B/s");
    EXPECT_EQ(exact_text(12.5, Unit::per_second), "12.500 /s");
    EXPECT_EQ(exact_text(-3, Unit::number), "-3");
    EXPECT_EQ(exact_text(1e19, Unit::bytes), "1e+19 B");
}

TEST(UnitText, WhatTheSimulatedGpuCountsIsSaidToBeSimulated) {
    EXPECT_STREQ(unit_name(Unit::simulated_nanoseconds), "simulated ns");
    EXPECT_STREQ(unit_name(Unit::simulated_cycles), "simulated cycles");
    EXPECT_TRUE(is_duration(Unit::simulated_nanoseconds));
    EXPECT_EQ(axis_text(2000, Unit::simulated_nanoseconds, 1000), "2 us");
    EXPECT_EQ(exact_text(2000, Unit::simulated_nanoseconds), "2 000 ns");
}

TEST(UnitText, UnknownIsNeverZero) {
    for (const auto unit : {Unit::bytes_per_second, Unit::nanoseconds, Unit::cycles, Unit::number}) {
        EXPECT_EQ(human_text(std::nan(""), unit), "n/a");
        EXPECT_EQ(exact_text(std::nan(""), unit), "n/a");
    }
}

TEST(UnitText, SpansOfTime) {
    EXPECT_EQ(span_text(12e6), "12 ms");
    EXPECT_EQ(span_text(1.5e9), "1.5 s");
    EXPECT_EQ(span_text(180e9), "3 min");
    EXPECT_EQ(span_text(800), "800 ns");
    EXPECT_EQ(span_text(3 * 3600e9), "3 h");
}

}  // namespace
}  // namespace egpu::ui
