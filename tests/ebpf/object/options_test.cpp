// SPDX-License-Identifier: Apache-2.0
// Options: `const volatile` globals that a user sets by name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "fixtures.hpp"

namespace egpu::ebpf {
namespace {

std::int64_t value_of(const Object& object, const std::string& name) {
    const auto option = std::ranges::find(object.options, name, &Option::name);
    std::uint64_t bits = 0;
    std::memcpy(&bits, object.constants.data() + option->offset, option->bytes);
    const unsigned unused = 64 - option->bytes * 8;
    const auto value = static_cast<std::int64_t>(bits << unused);
    return option->is_signed ? value >> unused : static_cast<std::int64_t>(bits);
}

TEST(Options, AreSetFromText) {
    auto object = accepted("everything.bpf.o");
    EXPECT_EQ(value_of(object, "limit"), 8);
    EXPECT_EQ(value_of(object, "shift"), -3);
    struct Row {
        const char *name, *text;
        std::int64_t value;
    };
    for (const auto& row : {Row{"limit", "4294967295", 4294967295},
                            {"limit", "0x10", 16},
                            {"limit", "-0", 0},
                            {"enabled", "false", 0},
                            {"enabled", "true", 1},
                            {"enabled", "0", 0},
                            {"enabled", "1", 1},
                            {"shift", "-32768", -32768},
                            {"shift", "32767", 32767},
                            {"shift", "-0x10", -16},
                            {"without_help", "0x7fffffffffffffff", INT64_MAX}}) {
        const auto status = set_option(object, row.name, row.text);
        EXPECT_TRUE(status) << row.name << " " << row.text;
        EXPECT_EQ(value_of(object, row.name), row.value) << row.text;
    }
}

TEST(Options, RefuseWhatDoesNotFit) {
    auto object = accepted("everything.bpf.o");
    const auto before = object.constants;
    struct Row {
        const char *name, *text, *code;
    };
    for (const auto& row : {Row{"limit", "4294967296", "EGPU-B032"},
                            {"limit", "-1", "EGPU-B032"},
                            {"limit", "", "EGPU-B031"},
                            {"limit", "8x", "EGPU-B031"},
                            {"limit", "0x", "EGPU-B031"},
                            {"limit", "--1", "EGPU-B031"},
                            {"limit", "18446744073709551616", "EGPU-B031"},
                            {"limit", "true", "EGPU-B031"},
                            {"enabled", "2", "EGPU-B032"},
                            {"enabled", "yes", "EGPU-B031"},
                            {"shift", "32768", "EGPU-B032"},
                            {"shift", "-32769", "EGPU-B032"},
                            {"limt", "1", "EGPU-B030"}}) {
        const auto status = set_option(object, row.name, row.text);
        ASSERT_FALSE(status) << row.name << " " << row.text;
        EXPECT_EQ(status.error().code, row.code) << row.name << " " << row.text;
    }
    EXPECT_EQ(object.constants, before);
    EXPECT_THAT(set_option(object, "limt", "1").error().hints, testing::ElementsAre("did you mean 'limit'?"));
    EXPECT_THAT(set_option(object, "zzzzzz", "1").error().hints.at(0), testing::HasSubstr("it has: "));
}

}  // namespace
}  // namespace egpu::ebpf
