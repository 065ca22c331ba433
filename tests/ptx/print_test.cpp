// SPDX-License-Identifier: Apache-2.0
// The printer, which writes a module from its tree, and the comparison of texts that says what a tree lost.
#include <gtest/gtest.h>

#include "dump.hpp"
#include "fixtures.hpp"
#include "ptx/syntax/compare.hpp"
#include "ptx/syntax/parser.hpp"
#include "ptx/syntax/print.hpp"

namespace egpu::ptx {
namespace {

Module parsed(const std::string& text) {
    auto module = parse(text, "test.ptx");
    if (!module) {
        ADD_FAILURE() << to_text(module.error()) << text;
        return {};
    }
    return std::move(*module);
}

std::string in_kernel(const std::string& body) {
    return ".version 8.0\n.target sm_90\n.address_size 64\n.entry k(.param .u64 p)\n{\n" + body + "}\n";
}

/// "" where the texts say the same, else where the second one parts.
std::string parting(const std::string& first, const std::string& second) {
    const auto difference = first_difference(first, second);
    if (!difference)
        return to_text(difference.error());
    if (!*difference)
        return "";
    const auto quoted = [](const std::string& text, Range range) {
        return text.substr(range.begin, std::max<std::size_t>(range.end - range.begin, 1));
    };
    return quoted(first, (*difference)->first) + " / " + quoted(second, (*difference)->second);
}

class Printed : public testing::TestWithParam<std::string> {};

TEST_P(Printed, SaysTheSameAsTheText) {
    const std::string text = test::read(GetParam());
    EXPECT_EQ(parting(text, print(parsed(text))), "");
}

TEST_P(Printed, HasTheSameTree) {
    const std::string text = test::read(GetParam());
    const Module module = parsed(text);
    const Module again = parsed(print(module));
    EXPECT_EQ(print(again), print(module));
    EXPECT_EQ(test::instructions_of(again).size(), test::instructions_of(module).size());
}

TEST_P(Printed, IsTheSameProgramToPtxas) {
    const std::string text = test::read(GetParam());
    const std::string mark = "// ptxas: ";
    if (!text.starts_with(mark) || test::ptxas().empty())
        GTEST_SKIP() << "not meant for ptxas, or no ptxas on this machine";
    const std::string architecture = text.substr(mark.size(), text.find('\n') - mark.size());
    const test::TemporaryFolder folder;
    const std::string from = folder.write("printed.ptx", print(parsed(text)));
    const auto ran = test::run(test::ptxas() + " -c -o /dev/null -arch=" + architecture + " " + from);
    EXPECT_EQ(ran.exit_code, 0) << ran.output;
}

INSTANTIATE_TEST_SUITE_P(Fixtures, Printed, testing::ValuesIn(test::fixtures("ptx/syntax", ".ptx")),
                         [](const auto& info) { return test::stem(info.param); });

TEST(Print, ReadsNumbersAndOpcodesAndWritesThemInOneForm) {
    const std::string written =
        print(parsed(in_kernel("@!%p ld .global.v2 .f32 {%f1,%f2},[%rd1-0x10]; // here\n"
                               "mov.f32 %f1, -1.5; mov.u32 %r1, (1<<4)|1;\n")));
    EXPECT_NE(written.find("@!%p ld.global.v2.f32 {%f1, %f2}, [%rd1+-16];\n"), std::string::npos) << written;
    EXPECT_NE(written.find("mov.f32 %f1, 0dBFF8000000000000;\nmov.u32 %r1, 17;\n"), std::string::npos) << written;
}

TEST(Print, KeepsTheOrderOfTheModule) {
    const std::string text =
        ".version 8.0\n.target sm_90, debug\n.address_size 64\n.file 1 \"a.cu\"\n.func f();\n.global .u32 a, b[] = "
        "{1,2};\n"
        ".func f() { ret; }\n.weak .func g();\n.alias g, f;\n.section .s { .b8 1 }\n";
    EXPECT_EQ(parting(text, print(parsed(text))), "");
}

struct Pair {
    const char* first;
    const char* second;
};

TEST(Compare, TakesTwoSpellingsForOne) {
    for (const auto& [first, second] :
         {Pair{"ld.global.u32 %r1, [%rd1-16];", "ld .global .u32 %r1, [%rd1 + -0x10] ;"},
          Pair{"mov.f64 %d, 1.5;", "mov.f64 %d, 0d3FF8000000000000;"},
          Pair{"mov.u32 %r1, 4*2+1;;", "mov.u32 %r1, 9U; /* nine */"}, Pair{"call f, ();", "call f, () ;"},
          Pair{".shared .u32 .align 8 x;", ".shared .align 8 .u32 x;"}})
        EXPECT_EQ(parting(in_kernel(first), in_kernel(second)), "") << first;
}

TEST(Compare, SeesWhatDiffers) {
    for (const auto& [first, second] :
         {Pair{"ld.global.u32 %r1, [%rd1-16];", "ld.global.u32 %r1, [%rd1+16];"},
          Pair{"ld.global.u32 %r1, [%rd1];", "ld.global.u32 %r1, [%rd2];"},
          Pair{"ld.global.u32 %r1, [%rd1];", "ld.global.u32 %r1, [%rd1+0];"}, Pair{"@p ret;", "@!p ret;"},
          Pair{"ld.global.nc.u32 %r1, [%rd1];", "ld.global.u32 %r1, [%rd1];"}, Pair{"ret;", ""},
          Pair{"mov.f32 %f, 1.5;", "mov.f32 %f, -1.5;"}, Pair{"mov.u32 %r, 0;", "mov.u32 %r, -0x80000000;"},
          Pair{".shared .align 8 .u32 x;", ".shared .align 16 .u32 x;"}, Pair{"L: ret;", "M: ret;"},
          Pair{".reg .b32 %r<9>;", ".reg .b32 %r<8>;"}, Pair{"ret; ret;", "ret;"}, Pair{"{ret;}", "ret;"},
          Pair{".global .u32 x = -1;", ".global .u32 x = 1;"}, Pair{".pragma \"nounroll\";", ""}})
        EXPECT_NE(parting(in_kernel(first), in_kernel(second)), "") << first;
}

TEST(Compare, SaysWhere) {
    const std::string first = in_kernel("ret;\nadd.s32 %r1, %r1, 1;\n"),
                      second = in_kernel("ret;\nadd.s32 %r1, %r1, 2;\n");
    const auto difference = first_difference(first, second);
    ASSERT_TRUE(difference && *difference);
    EXPECT_EQ((*difference)->first.begin, first.find("1;\n}"));
    EXPECT_EQ((*difference)->second.begin, second.find("2;\n}"));
    EXPECT_FALSE(first_difference("\"open", "x"));
}

}  // namespace
}  // namespace egpu::ptx
