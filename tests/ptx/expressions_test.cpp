// SPDX-License-Identifier: Apache-2.0
// Constant expressions against tests/data/ptx/expressions.cases, and ptxas as the judge of the values.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <sstream>

#include "dump.hpp"
#include "fixtures.hpp"
#include "ptx/fatbin/elf.hpp"
#include "ptx/syntax/parser.hpp"

namespace egpu::ptx {
namespace {

struct Case {
    std::string expression, value;
    bool only_ours = false;
    std::size_t line = 0;
};

void PrintTo(const Case& one, std::ostream* out) {
    *out << one.expression;
}

std::vector<Case> cases() {
    std::vector<Case> all;
    std::istringstream in(test::read(std::string(EGPU_TEST_DATA) + "/ptx/expressions.cases"));
    std::string text;
    for (std::size_t line = 1; std::getline(in, text); ++line) {
        const std::size_t bar = text.rfind(" | ");
        if (text.empty() || text.front() == '#' || bar == std::string::npos)
            continue;
        const std::string value = text.substr(bar + 3);
        all.push_back({text.substr(0, bar), value.substr(0, value.find(' ')),
                       value.find("(only ours)") != std::string::npos, line});
    }
    return all;
}

std::string kernel(const std::string& operand) {
    return fmt::format(
        ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p)\n{{\n.reg .b64 %d<3>;\n"
        "ld.param.u64 %d1, [p];\nmov.u64 %d2, {};\nst.global.u64 [%d1], %d2;\nret;\n}}\n",
        operand);
}

class Expression : public testing::TestWithParam<Case> {};

TEST_P(Expression, HasItsValue) {
    const auto module = parse(kernel(GetParam().expression), "case.ptx");
    ASSERT_TRUE(module) << to_text(module.error());
    const Operand& operand = test::instructions_of(*module).at(1)->operands.at(1);
    EXPECT_EQ(operand.text, GetParam().expression);
    if (GetParam().value == "other") {
        EXPECT_EQ(operand.kind, Operand::Kind::other);
    } else if (operand.kind == Operand::Kind::list) {  // "(5)" is the list of one argument
        EXPECT_TRUE(GetParam().only_ours);
    } else {
        EXPECT_EQ(operand.kind, Operand::Kind::integer);
        EXPECT_EQ(std::to_string(operand.integer), GetParam().value);
    }
}

INSTANTIATE_TEST_SUITE_P(Cases, Expression, testing::ValuesIn(cases()),
                         [](const auto& info) { return "line_" + std::to_string(info.param.line); });

TEST(Expressions, AreOffsetsOfAddresses) {
    const auto module = parse(
        ".version 9.0\n.entry k() { ld.u32 %r1, [%d1+4*2]; ld.u32 %r1, [%d1 - 4 + 1]; ld.u32 %r1, [16*2]; "
        "ld.u32 %r1, [%d1+%d2]; ld.u32 %r1, [x+1<<2]; mov.u64 %d1, x+4+4; }",
        "case.ptx");
    ASSERT_TRUE(module) << to_text(module.error());
    std::vector<std::string> operands;
    for (const Instruction* instruction : test::instructions_of(*module))
        operands.push_back(test::dump(instruction->operands.at(1)));
    EXPECT_EQ(operands,
              (std::vector<std::string>{"[%d1+8]", "[%d1-3]", "[+32]", "other`[%d1+%d2]`", "[x+4]", "x+4+4<x+8>"}));
}

std::string code(const test::TemporaryFolder& folder, const std::string& operand) {
    const std::string from = folder.write("case.ptx", kernel(operand)), to = folder.path() + "/case.cubin";
    const auto ran = test::run(fmt::format("{} -arch=sm_90 -o {} {}", test::ptxas(), to, from));
    EXPECT_EQ(ran.exit_code, 0) << operand << ": " << ran.output;
    const std::string cubin = test::read(to);
    const auto elf = read_elf(std::as_bytes(std::span(cubin)));
    const ElfSection* section = elf ? elf->section(".text.k") : nullptr;
    return section == nullptr ? "" : std::string(as_text(section->data));
}

TEST(Expressions, AreWhatPtxasMakesOfThem) {
    if (test::ptxas().empty())
        GTEST_SKIP() << "no ptxas on this machine";
    const test::TemporaryFolder folder;
    for (const Case& one : cases()) {
        if (one.value == "other" || one.only_ours)
            continue;
        EXPECT_EQ(code(folder, one.expression), code(folder, one.value)) << one.expression;
    }
}

}  // namespace
}  // namespace egpu::ptx
