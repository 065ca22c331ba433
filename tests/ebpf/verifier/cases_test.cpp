// SPDX-License-Identifier: Apache-2.0
// Every case of tests/data/ebpf/verifier: accepted or refused with its code, and what the walk says of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>

#include "cases.hpp"

namespace egpu::ebpf::test {
namespace {

class VerifierCase : public testing::TestWithParam<std::size_t> {};

void expect_number(const std::optional<std::uint32_t>& wanted, std::size_t found, const char* what) {
    EXPECT_EQ(found, wanted.value_or(static_cast<std::uint32_t>(found))) << what;
}

void expect_text(const std::optional<std::string>& wanted, const std::string& found) {
    EXPECT_THAT(found, testing::HasSubstr(wanted.value_or("")));
}

TEST_P(VerifierCase, IsAsExpected) {
    const Case& each = all_cases()[GetParam()];
    ASSERT_EQ(each.problem, "");
    const auto verified = verify(each.object, each.program(), each.options);
    if (!verified) {
        EXPECT_EQ(verified.error().code, each.expect) << to_text(verified.error());
        EXPECT_FALSE(verified.error().message.empty());
        EXPECT_FALSE(verified.error().why.empty());
        EXPECT_FALSE(verified.error().fix.empty());
        expect_text(each.message, verified.error().message);
        expect_text(each.why, verified.error().why);
        expect_text(each.fix, verified.error().fix);
        return;
    }
    ASSERT_EQ(each.expect, "accepted");
    expect_number(each.instructions, verified->worst_instructions, "instructions");
    expect_number(each.lookups, verified->worst_lookups, "lookups");
    expect_number(each.atomics, verified->worst_atomics, "atomics");
    expect_number(each.stack, verified->stack_bytes, "stack");
    expect_number(each.dynamic, verified->dynamic_lookups.size(), "dynamic");
    expect_number(each.searched, verified->searched_maps.size(), "searched");
    expect_number(each.register_adds, verified->register_adds.size(), "register_adds");
    if (each.notes) {
        std::vector<std::string> codes;
        for (const Diagnostic& note : verified->notes) {
            EXPECT_EQ(note.severity, Severity::warning);
            codes.push_back(note.code);
        }
        EXPECT_EQ(codes, *each.notes);
    }
    if (each.fields) {
        const std::set<std::string> fields(each.fields->begin(), each.fields->end());
        EXPECT_EQ(verified->fields_read, fields);
    }
}

/// Nothing about a verdict depends on whether the walk is kept.
TEST_P(VerifierCase, TheWalkCanBeKept) {
    const Case& each = all_cases()[GetParam()];
    ASSERT_EQ(each.problem, "");
    VerifierOptions options = each.options;
    options.keep_walk = true;
    const auto verified = verify(each.object, each.program(), options);
    EXPECT_EQ(verified ? "accepted" : verified.error().code, each.expect);
    if (!check_encoding(each.program().instructions))
        return;  // refused before any walk
    const std::string walk = verified ? verified->walk : verified.error().detail;
    EXPECT_THAT(walk, testing::HasSubstr("processed "));
    EXPECT_THAT(walk, testing::HasSubstr("0: "));
}

std::string name_of(const testing::TestParamInfo<std::size_t>& info) {
    const Case& each = all_cases()[info.param];
    std::string name = std::to_string(info.param) + "_" + each.file + "_" + each.name;
    std::replace_if(
        name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
    return name;
}

INSTANTIATE_TEST_SUITE_P(Data, VerifierCase, testing::Range(std::size_t{0}, all_cases().size()), name_of);

TEST(VerifierCases, EachCodeHasACaseThatMeetsIt) {
    std::set<std::string> met;
    for (const Case& each : all_cases())
        met.insert(each.expect);
    for (int code = 2; code <= 24; ++code)
        EXPECT_TRUE(met.count((code < 10 ? "EGPU-V00" : "EGPU-V0") + std::to_string(code))) << code;
    EXPECT_GE(all_cases().size(), 400u);
}

}  // namespace
}  // namespace egpu::ebpf::test
