// SPDX-License-Identifier: Apache-2.0
// Trees of the fixtures against golden files, ranges, refusals, edits, and that size costs no more than in proportion.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "dump.hpp"
#include "fixtures.hpp"
#include "ptx/syntax/edit.hpp"
#include "ptx/syntax/parser.hpp"

namespace egpu::ptx {
namespace {

Module parsed(const std::string& text) {
    auto module = parse(text, "test.ptx");
    if (!module) {
        ADD_FAILURE() << to_text(module.error());
        return {};
    }
    return std::move(*module);
}

std::string in_kernel(const std::string& body) {
    return ".version 8.0\n.target sm_90\n.address_size 64\n.entry k(.param .u64 p)\n{\n" + body + "}\n";
}

class Tree : public testing::TestWithParam<std::string> {};

// EGPU_UPDATE_GOLDEN=1 writes the golden files anew; read the difference before committing it.
TEST_P(Tree, IsTheGoldenOne) {
    const Module module = parsed(test::read(GetParam()));
    const std::string golden = GetParam().substr(0, GetParam().size() - 4) + ".tree";
    if (std::getenv("EGPU_UPDATE_GOLDEN") != nullptr)
        std::ofstream(golden) << test::dump(module);
    EXPECT_EQ(test::dump(module), test::read(golden));
}

TEST_P(Tree, EditedByNothingIsTheSameText) {
    const std::string text = test::read(GetParam());
    EXPECT_EQ(Editor(parsed(text)).apply(), text);
}

// "// ptxas: sm_90" in the first line says that the fixture is valid for the assembler too.
TEST_P(Tree, IsAcceptedByPtxasWhereItSaysSo) {
    const std::string text = test::read(GetParam());
    const std::string mark = "// ptxas: ";
    if (!text.starts_with(mark))
        GTEST_SKIP() << "the fixture is not meant for ptxas";
    if (test::ptxas().empty())
        GTEST_SKIP() << "no ptxas on this machine";
    const std::string architecture = text.substr(mark.size(), text.find('\n') - mark.size());
    const auto ran = test::run(test::ptxas() + " -c -o /dev/null -arch=" + architecture + " " + GetParam());
    EXPECT_EQ(ran.exit_code, 0) << ran.output;
}

INSTANTIATE_TEST_SUITE_P(Fixtures, Tree, testing::ValuesIn(test::fixtures("ptx/syntax", ".ptx")),
                         [](const auto& info) { return test::stem(info.param); });

class Refused : public testing::TestWithParam<std::string> {};

// First line of each file: "// expect: CODE LINE:COLUMN words of the message".
TEST_P(Refused, WithCodeAndPlace) {
    const std::string text = test::read(GetParam());
    std::istringstream expected(text.substr(0, text.find('\n')));
    std::string word, code, place, message;
    expected >> word >> word >> code >> place;
    std::getline(expected >> std::ws, message);
    const auto module = parse(text, "bad.ptx");
    ASSERT_FALSE(module);
    const Diagnostic& error = module.error();
    EXPECT_EQ(error.code, code);
    EXPECT_EQ(std::to_string(error.where.line) + ":" + std::to_string(error.where.column), place);
    EXPECT_THAT(error.message, testing::HasSubstr(message));
    EXPECT_EQ(error.where.file, "bad.ptx");
    EXPECT_EQ(error.quoted.size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(Fixtures, Refused, testing::ValuesIn(test::fixtures("ptx/bad", ".ptx")),
                         [](const auto& info) { return test::stem(info.param); });

TEST(Parser, TakesOneHundredScopesAndRefusesAThousand) {
    const auto nested = [](std::size_t depth) {
        return in_kernel(std::string(depth, '{') + "ret;" + std::string(depth, '}'));
    };
    EXPECT_TRUE(parse(nested(100), "test"));
    const auto module = parse(nested(100'000), "test");
    ASSERT_FALSE(module);
    EXPECT_EQ(module.error().code, "EGPU-P004");
}

TEST(Parser, RefusesDeepOperands) {
    for (const char open : {'{', '(', '['}) {
        const auto module = parse(in_kernel("mov.b32 %r1, " + std::string(100'000, open) + ";"), "test");
        ASSERT_FALSE(module) << open;
        EXPECT_EQ(module.error().code, "EGPU-P004");
    }
    std::string chain = "mov.b32 %r1, a";
    for (int i = 0; i < 100'000; ++i)
        chain += "|a";
    EXPECT_FALSE(parse(in_kernel(chain + ";"), "test"));
}

TEST(Parser, DropsThePaddingOfAFatbinary) {
    const Module module = parsed(in_kernel("ret;") + std::string(7, '\0'));
    EXPECT_EQ(module.text->back(), '\n');
}

TEST(Parser, FindsDefinitionsBeforeDeclarations) {
    const Module module = parsed(
        ".version 8.0\n.func a();\n.func b() { ret; }\n.func a() { trap; }\n.extern .global .u32 v;\n.global .u32 "
        "v;\n");
    ASSERT_NE(module.function("a"), nullptr);
    EXPECT_NE(module.function("a")->body, nullptr);
    EXPECT_EQ(module.function("c"), nullptr);
    ASSERT_NE(module.variable("v"), nullptr);
    EXPECT_EQ(module.variable("v")->linkage, "");
}

TEST(Parser, InstructionRangesReachFromGuardToSemicolon) {
    const Module module = parsed(in_kernel("L: @!%p  ld.global.u32 %r1, [%rd1]  ; ret;\n"));
    const auto all = test::instructions_of(module);
    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(module.slice(all[0]->range), "@!%p  ld.global.u32 %r1, [%rd1]  ;");
    EXPECT_EQ(module.slice(all[1]->range), "ret;");
    EXPECT_EQ(module.slice(all[0]->operands[1].range), "[%rd1]");
    EXPECT_TRUE(all[0]->has("u32"));
    EXPECT_FALSE(all[0]->has("ld"));
}

TEST(Parser, DeclaratorsOfOneStatementFollowEachOther) {
    const Module module = parsed(".version 8.0\n.global .u32 a, b[4] , c = 5;\n");
    ASSERT_EQ(module.variables.size(), 3U);
    EXPECT_EQ(module.slice(module.variables[0].range), ".global .u32 a,");
    EXPECT_EQ(module.slice(module.variables[1].range), "b[4] ,");
    EXPECT_EQ(module.slice(module.variables[2].range), "c = 5;");
}

TEST(Parser, AliasesHaveTheirWholeStatement) {
    const Module module = parsed(".version 8.0\n.func a() { ret; }\n.func b();\n.alias b, a ;\n");
    ASSERT_EQ(module.aliases.size(), 1U);
    EXPECT_EQ(module.slice(module.aliases[0].range), ".alias b, a ;");
}

TEST(Parser, SourceLinesHoldUntilTheNextAndEndWithTheFunction) {
    const Module module =
        parsed(".version 8.0\n.entry a() { ret; .loc 1 7 3\n { ret; .loc 1 8 4\n } ret; }\n.entry b() { ret; }\n");
    std::vector<std::uint32_t> lines;
    for (const Instruction* instruction : test::instructions_of(module))
        lines.push_back(instruction->source.line);
    EXPECT_EQ(lines, (std::vector<std::uint32_t>{0, 7, 8, 0}));
}

TEST(Parser, SizesSaturate) {
    const Module module =
        parsed(".version 8.0\n.global .b64 a[4294967295][4294967295][4294967295];\n.global .u32 b[2][3];\n");
    EXPECT_EQ(module.variables[0].bytes(), ~std::uint64_t{0});
    EXPECT_EQ(module.variables[1].bytes(), 24U);
}

std::string many_instructions(std::size_t count) {
    std::string body = ".reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p;\n";
    for (std::size_t i = 0; i < count; ++i)
        body += "\t@%p ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1+16];\n";
    return in_kernel(body);
}

// Measured 12 ms for 19,000 instructions; the limits leave room for a busy machine and for sanitizers, and none for a
// quadratic parser, which takes minutes for the larger one.
TEST(Parser, IsLinear) {
    for (const std::size_t count : {19'000U, 400'000U}) {
        const auto begin = std::chrono::steady_clock::now();
        const Module module = parsed(many_instructions(count));
        const auto passed = std::chrono::steady_clock::now() - begin;
        EXPECT_EQ(test::instructions_of(module).size(), count);
        EXPECT_LT(passed, std::chrono::milliseconds(count / 5));
    }
}

TEST(Parser, LongLinesCostOneLookEach) {
    std::string text = ".version 8.0\n.global .u32 a[200000] = {0";
    for (int i = 1; i < 200'000; ++i)
        text += ",0";
    const Module module = parsed(text + "};\n");
    EXPECT_EQ(module.variables[0].initializer->parts.size(), 200'000U);
    const auto bad = parse(text + " ]", "test");
    ASSERT_FALSE(bad);
    EXPECT_TRUE(bad.error().quoted.empty());  // nobody wants the megabyte quoted
}

TEST(Editor, InsertsReplacesAndErases) {
    const Module module = parsed(in_kernel("add.s32 %r1, %r1, 1; sub.s32 %r2, %r2, 2; ret;\n"));
    const auto all = test::instructions_of(module);
    Editor editor(module);
    editor.insert_before(all[0]->range, "first; ");
    editor.insert_before(all[0]->range, "second; ");
    editor.replace(all[0]->operands[2].range, "7");
    editor.erase(all[1]->range);
    editor.insert_after(all[1]->range, "third;");
    editor.insert_at(0, "// begin\n");
    editor.insert_at(static_cast<std::uint32_t>(module.text->size()), "// end\n");
    EXPECT_EQ(editor.apply(),
              "// begin\n" + in_kernel("first; second; add.s32 %r1, %r1, 7; third; ret;\n") + "// end\n");
}

TEST(Editor, AnInsertionStandsBeforeAReplacementAtTheSamePlace) {
    const Module module = parsed(in_kernel("ret;"));
    Editor editor(module);
    const Range range = test::instructions_of(module)[0]->range;
    editor.replace(range, "exit;");
    editor.insert_before(range, "trap;");
    EXPECT_EQ(editor.apply(), in_kernel("trap;exit;"));
}

}  // namespace
}  // namespace egpu::ptx
