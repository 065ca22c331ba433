// SPDX-License-Identifier: Apache-2.0
#include "host/probesets/version_range.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "base/patterns.hpp"
#include "base/quantities.hpp"

namespace egpu::host {
namespace {

TEST(VersionRange, HoldsWhatAllItsBoundsHold) {
    const struct {
        const char* range;
        const char* version;
        bool inside;
    } rows[] = {
        {">=0.1, <1", "0.1.0", true},  {">=0.1, <1", "0.9.12", true}, {">=0.1, <1", "1.0.0", false},
        {">=0.1, <1", "0.0.9", false}, {"=0.2", "0.2.0", true},       {"=0.2", "0.2.1", false},
        {">0.1", "0.1.0", false},      {">0.1", "0.1.1", true},       {"<=1.2.3", "1.2.3", true},
        {"<=1.2.3", "1.2.4", false},   {">=0.10", "0.9.0", false},    {">=0.1", "0.1.0-rc1", true},
        {" >= 0.1 ,<2", "1.9", true},  {">=0.1", "not a one", false},
    };
    for (const auto& row : rows) {
        const auto range = parse_version_range(row.range);
        ASSERT_TRUE(range) << row.range;
        EXPECT_EQ(in_range(*range, row.version), row.inside) << row.version << " in " << row.range;
    }
}

TEST(VersionRange, RefusesAnythingElse) {
    for (const char* text : {"", "1", ">=", ">= ", ">=1.", ">=1.2.3.4", ">=1,", ",<1", "=>1", ">=1 <2", ">=-1", "^1.2"})
        EXPECT_FALSE(parse_version_range(text)) << text;
}

TEST(Quantities, AreNumbersWithTheirUnit) {
    const struct {
        const char* text;
        Dimension dimension;
        Quantity value;
    } rows[] = {
        {"64 MiB", Dimension::bytes, 67108864},
        {"1.5kB", Dimension::bytes, 1500},
        {"2 s", Dimension::duration, 2e9L},
        {"50ms", Dimension::duration, 5e7L},
        {"1.2 TB/s", Dimension::rate, 1.2e12L},
        {"400 cycles", Dimension::cycles, 400},
        {"50 %", Dimension::share, 0.5L},
        {"0", Dimension::number, 0},
        {"18446744073709551615", Dimension::number, 18446744073709551615.0L},
    };
    for (const auto& row : rows) {
        const auto value = parse_quantity(row.text, row.dimension);
        // 18446744073709551615 is over the limit of what a sum can hold with room to spare.
        if (row.value > 1.8e19L) {
            EXPECT_FALSE(value) << row.text;
            continue;
        }
        ASSERT_TRUE(value) << row.text;
        EXPECT_NEAR(static_cast<double>(*value), static_cast<double>(row.value), 1e-6 * static_cast<double>(row.value));
        EXPECT_EQ(*dimension_of(row.text), row.dimension) << row.text;
    }
}

TEST(Quantities, ABareNumberOrAnotherUnitIsRefused) {
    const struct {
        const char* text;
        Dimension dimension;
        const char* why;
    } rows[] = {
        {"2", Dimension::duration, "needs a unit"},
        {"2 sec", Dimension::duration, "unknown unit 'sec'"},
        {"64 mib", Dimension::bytes, "unknown unit 'mib'"},
        {"x", Dimension::bytes, "not a number"},
        {"-1 s", Dimension::duration, "not a number"},
        {"nan s", Dimension::duration, "not a number"},
        {"inf B", Dimension::bytes, "not a number"},
        {"1e30 s", Dimension::duration, "too large"},
        {"5 B", Dimension::number, "has no unit such as 'B'"},
        {"", Dimension::number, "not a number"},
    };
    for (const auto& row : rows) {
        const auto value = parse_quantity(row.text, row.dimension);
        ASSERT_FALSE(value) << row.text;
        EXPECT_EQ(value.error().message, row.why) << row.text;
        EXPECT_FALSE(value.error().hints.empty()) << row.text;
    }
}

TEST(KernelPatterns, AreGlobsOrExpressions) {
    const std::string mangled = "_Z6reduceIfEvPKT_PS0_j";  // void reduce<float>(float const*, float*, unsigned int)
    for (const char* pattern :
         {"reduce", "*duce*", "regex:^reduce", "regex:red.*<float>$", "regex:unsigned", "regex:^_Z6"})
        EXPECT_TRUE(kernel_pattern_matches(pattern, mangled)) << pattern;
    for (const char* pattern : {"reduc", "regex:^educe", "regex:double", "regex:(", ""})
        EXPECT_FALSE(kernel_pattern_matches(pattern, mangled)) << pattern;
    for (const char* pattern : {"", "regex:", "regex:(", "regex:[z-a]", "regex:(a)\\1"})
        EXPECT_FALSE(check_kernel_pattern(pattern)) << pattern;
    EXPECT_FALSE(check_kernel_pattern("regex:" + std::string(600, 'a')));
    const std::pair<const char*, const char*> kRefused[] = {
        {"regex:(a)\\1", "is no regular expression: invalid escape sequence: \\1"},
        {"regex:(?=a)", "is no regular expression: invalid perl operator: (?="},
        {"regex:a{9999}", "is no regular expression: invalid repetition size: {9999}"},
    };
    for (const auto& [pattern, why] : kRefused) {
        const Status checked = check_kernel_pattern(pattern);
        ASSERT_FALSE(checked) << pattern;
        EXPECT_THAT(checked.error().message, ::testing::StartsWith(why));
        EXPECT_FALSE(kernel_pattern_matches(pattern, "a")) << pattern;
    }
}

TEST(KernelPatterns, TakeTimeInProportion) {
    // Backtracking would take 2^40 steps for this.
    EXPECT_FALSE(kernel_pattern_matches("regex:^(a+)+$", std::string(40, 'a') + "b"));
    EXPECT_TRUE(kernel_pattern_matches("regex:b$", std::string(100'000, 'a') + "b")) << "no name is too long";
    // Tried from each character on, these would take hours.
    const std::string name(60'000, 'a');
    for (const char* pattern : {"regex:(a*)*b", "regex:a*a*a*a*b", "regex:(.*)(.*)(.*)gemm.*sm90", "regex:(a|aa)+$b"})
        EXPECT_FALSE(kernel_pattern_matches(pattern, name)) << pattern;
    EXPECT_TRUE(kernel_pattern_matches("regex:^(a*)*$", name));
}

}  // namespace
}  // namespace egpu::host
