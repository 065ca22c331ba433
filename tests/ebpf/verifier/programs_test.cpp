// SPDX-License-Identifier: Apache-2.0
// Programs in C, compiled at build time: those of tests/data/ebpf/verifier/c are refused with the text that stands
// beside them, for every instruction set that clang writes; the bundled ones are accepted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "ebpf/object/object.hpp"
#include "ebpf/verifier/report.hpp"
#include "ebpf/verifier/verifier.hpp"

namespace egpu::ebpf::test {
namespace {

std::string contents(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    EXPECT_TRUE(in.good()) << path;
    return {std::istreambuf_iterator<char>(in), {}};
}

Object object_at(const std::string& name) {
    const std::string bytes = contents(std::string(EGPU_OBJECTS) + "/" + name);
    auto object = read_object(std::as_bytes(std::span(bytes)), name);
    EXPECT_TRUE(object) << (object ? "" : to_text(object.error()));
    return object ? std::move(*object) : Object{};
}

std::vector<std::string> names_in(const char* folder) {
    std::vector<std::string> names;
    for (const auto& entry :
         std::filesystem::directory_iterator(std::string(EGPU_TEST_DATA "/ebpf/verifier/") + folder))
        if (entry.path().filename().string().ends_with(".bpf.c"))
            names.push_back(entry.path().stem().stem().string());
    std::sort(names.begin(), names.end());
    return names;
}

/// The text of a refusal, less what differs between versions of clang: the line with the registers.
std::string without_registers(const std::string& text) {
    std::istringstream lines(text);
    std::string out, line;
    while (std::getline(lines, line))
        if (!line.starts_with("at insn "))
            out += line + '\n';
    return out;
}

class Refused : public testing::TestWithParam<std::string> {};

TEST_P(Refused, WithItsText) {
    const std::string expected = contents(EGPU_TEST_DATA "/ebpf/verifier/c/" + GetParam() + ".expected");
    for (const char* version : {"v1", "v2", "v3"}) {
        const Object object = object_at("c/" + GetParam() + "." + version + ".o");
        ASSERT_EQ(object.programs.size(), 1u);
        const auto verified = verify(object, object.programs.front());
        ASSERT_FALSE(verified) << version;
        EXPECT_EQ(without_registers(to_text(verified.error())), expected) << version;
        EXPECT_THAT(verified.error().detail,
                    testing::ContainsRegex("at insn [0-9]+: (r[0-9]=.*      )?\\(-v: the whole walk\\)"));
    }
}
INSTANTIATE_TEST_SUITE_P(Data, Refused, testing::ValuesIn(names_in("c")), [](const auto& info) { return info.param; });

class Accepted : public testing::TestWithParam<std::string> {};

TEST_P(Accepted, ByEveryInstructionSet) {
    for (const char* version : {"v1", "v2", "v3"}) {
        const Object object = object_at("accepted/" + GetParam() + "." + version + ".o");
        ASSERT_FALSE(object.programs.empty());
        for (const Program& program : object.programs) {
            const auto verified = verify(object, program);
            ASSERT_TRUE(verified) << version << '\n' << to_text(verified.error());
            EXPECT_LE(verified->worst_instructions, 512u);
            EXPECT_GE(verified->worst_lookups, 1u);
            EXPECT_TRUE(verified->dynamic_lookups.empty());
            EXPECT_THAT(check_report(object, program, *verified),
                        testing::StartsWith(program.name + "  " + program.section + "  accepted\n    at most "));
        }
    }
}
INSTANTIATE_TEST_SUITE_P(Data, Accepted, testing::Values("bandwidth", "coalescing", "latency", "hello", "constructs"),
                         [](const auto& info) { return info.param; });

TEST(Report, Bandwidth) {
    const Object object = object_at("accepted/bandwidth.v3.o");
    const auto verified = verify(object, object.programs.front());
    ASSERT_TRUE(verified);
    EXPECT_EQ(
        check_report(object, object.programs.front(), *verified),
        "count_traffic  gpu/mem  accepted\n"
        "    at most 18 instructions and 1 lookup a firing (static key: an address); 2 atomic adds, may be kept in "
        "registers\n"
        "    stack 16 bytes; reads kernel, space, access, bytes_per_lane (site)\n");
}

/// An element of an array is computed from its index, an entry of a hash is searched for.
TEST(Report, KeysKnownAtRunTime) {
    Object object = object_at("accepted/bandwidth.v3.o");
    auto verified = verify(object, object.programs.front());
    ASSERT_TRUE(verified);
    ASSERT_FALSE(object.maps.at(0).is_array());
    verified->dynamic_lookups.emplace_back(0, 0);
    EXPECT_THAT(check_report(object, object.programs.front(), *verified),
                testing::HasSubstr("1 lookup a firing (a key known only when it runs: searched each time)"));
    object.maps[0].type = MapType::array;
    EXPECT_THAT(check_report(object, object.programs.front(), *verified),
                testing::HasSubstr("1 lookup a firing (an index known only when it runs: computed each time)"));
}

/// Options are constants: a branch on one is followed on its side only, and bounds what it bounds.
TEST(Programs, AnOptionIsAConstant) {
    Object object = object_at("accepted/constructs.v3.o");
    ASSERT_TRUE(set_option(object, "threshold", "0"));
    const auto by_lanes = std::find_if(object.programs.begin(), object.programs.end(),
                                       [](const Program& program) { return program.name == "by_lanes"; });
    ASSERT_NE(by_lanes, object.programs.end());
    const auto without = verify(object, *by_lanes);
    ASSERT_TRUE(without);
    EXPECT_EQ(without->worst_atomics, 0u);
    ASSERT_TRUE(set_option(object, "threshold", "16"));
    const auto with = verify(object, *by_lanes);
    ASSERT_TRUE(with);
    EXPECT_EQ(with->worst_atomics, 1u);
}

}  // namespace
}  // namespace egpu::ebpf::test
