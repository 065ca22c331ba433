// SPDX-License-Identifier: Apache-2.0
// The opcode table against tests/data/ptx/memory.cases; ptxas says that the cases are PTX.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "dump.hpp"
#include "fixtures.hpp"
#include "ptx/opcodes/memory.hpp"
#include "ptx/syntax/parser.hpp"

namespace egpu::ptx {
namespace {

struct Case {
    std::string target, instruction, expectation;
    std::size_t line = 0;
};

void PrintTo(const Case& one, std::ostream* out) {
    *out << one.instruction;
}

std::vector<Case> cases() {
    std::vector<Case> all;
    std::istringstream in(test::read(std::string(EGPU_TEST_DATA) + "/ptx/memory.cases"));
    std::string text;
    for (std::size_t line = 1; std::getline(in, text); ++line) {
        if (text.empty() || text.front() == '#')
            continue;
        const std::size_t first = text.find(" | "), last = text.rfind(" | ");
        all.push_back({text.substr(0, first), text.substr(first + 3, last - first - 3), text.substr(last + 3), line});
    }
    return all;
}

std::string kernel(const std::string& name, const std::string& instruction) {
    return fmt::format(
        ".visible .entry {}(.param .u64 arg)\n{{\n"
        "\t.reg .pred %p, %q; .reg .b16 %h<17>; .reg .b32 %r<17>; .reg .b64 %d<17>; .reg .b128 %o<9>;\n"
        "\t.reg .f32 %f<17>; .reg .f64 %g<9>;\n"
        "\t.shared .align 128 .b8 sh[1024];\n\t.local .align 16 .b8 lo[256];\n\t{}\n\tret;\n}}\n",
        name, instruction);
}

std::string head(const std::string& target) {
    return fmt::format(
        ".version 9.0\n.target {}\n.address_size 64\n.global .align 16 .b8 gl[256];\n.const .align 16 .b8 co[256];\n",
        target);
}

std::string describe(const MemoryAccess& access) {
    static constexpr const char* kKinds[] = {"load", "store", "atomic", "reduction", "async_copy"};
    static constexpr const char* kSpaces[] = {"global", "shared", "local", "constant", "param", "generic", "texture"};
    std::string kind = kKinds[static_cast<std::size_t>(access.kind)];
    if (access.kind == AccessKind::async_copy)
        kind += fmt::format(" {}", kKinds[static_cast<std::size_t>(access.direction)]);
    std::string out =
        fmt::format("{} {} {}x{} address={} value={}", kind, kSpaces[static_cast<std::size_t>(access.space)],
                    access.element_bytes, access.vector, access.address_operand, access.value_operand);
    if (access.bytes == MemoryAccess::Bytes::at_run_time)
        out += fmt::format(" bytes={}", access.bytes_operand);
    if (access.bytes == MemoryAccess::Bytes::in_tensor_map)
        out += fmt::format(" bytes=map {} of {}d", access.bytes_operand, access.tensor_rank);
    if (access.bytes == MemoryAccess::Bytes::unknown)
        out += " bytes=unknown";
    if (!access.address_of_lane)
        out += " address_of_warp";
    return out;
}

std::string describe(const Instruction& instruction) {
    const auto plain = memory_access(instruction);
    const auto with_param = memory_access(instruction, true);
    const bool unknown = touches_memory_in_an_unknown_way(instruction);
    EXPECT_FALSE(with_param && unknown) << "described and unknown at once";
    if (plain) {
        EXPECT_EQ(describe(*plain), describe(*with_param));
        return describe(*plain);
    }
    if (with_param)
        return "param: " + describe(*with_param);
    return unknown ? "unknown" : "none";
}

class Opcode : public testing::TestWithParam<Case> {};

TEST_P(Opcode, IsDescribedAsExpected) {
    const auto module = parse(head("sm_90") + kernel("k", GetParam().instruction), "case.ptx");
    ASSERT_TRUE(module) << to_text(module.error());
    const Instruction& instruction = *test::instructions_of(*module).front();
    EXPECT_EQ(describe(instruction), GetParam().expectation);
}

INSTANTIATE_TEST_SUITE_P(Cases, Opcode, testing::ValuesIn(cases()),
                         [](const auto& info) { return "line_" + std::to_string(info.param.line); });

TEST(Opcodes, TheCasesAreWhatPtxasTakes) {
    if (test::ptxas().empty())
        GTEST_SKIP() << "no ptxas on this machine";
    std::map<std::string, std::string> modules;
    for (const Case& one : cases()) {
        if (one.target == "-")
            continue;
        auto [module, added] = modules.emplace(one.target, head(one.target));
        module->second += kernel(fmt::format("line_{}", one.line), one.instruction);
    }
    EXPECT_GE(modules.size(), 5U);
    const test::TemporaryFolder folder;
    for (const auto& [target, text] : modules) {
        const std::string file = folder.write(target + ".ptx", text);
        const auto ran = test::run(fmt::format("{} -c -O0 -arch={} -o /dev/null {}", test::ptxas(), target, file));
        EXPECT_EQ(ran.exit_code, 0) << target << ": " << ran.output;
    }
}

TEST(Opcodes, Sizes) {
    EXPECT_EQ(type_bytes("u8"), 1U);
    EXPECT_EQ(type_bytes("f16x2"), 4U);
    EXPECT_EQ(type_bytes("b128"), 16U);
    EXPECT_EQ(type_bytes("pred"), 1U);
    EXPECT_EQ(type_bytes("v4"), 0U);
    EXPECT_EQ(type_bytes(""), 0U);
}

}  // namespace
}  // namespace egpu::ptx
