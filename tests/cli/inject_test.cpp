// SPDX-License-Identifier: Apache-2.0
// What `egpu inject` is made of: identity that a falsified tree doesn't pass, kinds, programs, differences of texts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <sstream>

#include "../ptx/fixtures.hpp"
#include "cli/inject/all_sites.hpp"
#include "cli/inject/identity.hpp"
#include "cli/inject/kinds.hpp"
#include "cli/inject/unified_diff.hpp"
#include "inject/compile/compile.hpp"
#include "ptx/syntax/parser.hpp"

namespace egpu::cli {
namespace {

NamedModule named(const std::string& text) {
    auto module = ptx::parse(text, "test.ptx");
    EXPECT_TRUE(module) << to_text(module.error());
    return {"test.ptx", std::move(*module), true, {}};
}

/// "// ptxas: sm_90" in the first line; "" where the fixture is not meant for ptxas.
std::string architecture_of(const std::string& text) {
    const std::string mark = "// ptxas: ";
    return text.starts_with(mark) ? text.substr(mark.size(), text.find('\n') - mark.size()) : "";
}

class IdentityOf : public testing::TestWithParam<std::string> {};

TEST_P(IdentityOf, Fixture) {
    const auto ptxas = inject::find_ptxas();
    const std::string text = test::read(GetParam());
    const std::string architecture = architecture_of(text);
    if (!ptxas || architecture.empty())
        GTEST_SKIP() << "not meant for ptxas, or no ptxas on this machine";
    const Identity identity = check_identity(named(text), ptxas, architecture);
    EXPECT_FALSE(identity.refusal) << to_text(*identity.refusal);
    for (const auto& difference : identity.differences)
        ADD_FAILURE() << difference.function << ", " << difference.where << ": " << difference.what;
    EXPECT_GT(identity.sections, 0U);
}

INSTANTIATE_TEST_SUITE_P(Fixtures, IdentityOf, testing::ValuesIn(test::fixtures("ptx/syntax", ".ptx")),
                         [](const auto& info) { return test::stem(info.param); });

constexpr const char* kKernel =
    ".version 7.0\n.target sm_75\n.address_size 64\n.const .u32 c[2] = {1, 2};\n"
    ".visible .entry k(.param .u64 p)\n.maxntid 64\n{\n.reg .b64 %rd<2>; .reg .b32 %r<3>; .reg .pred %p1;\n"
    "ld.param.u64 %rd1, [p];\nld.global.u32 %r1, [%rd1+4];\nld.const.u32 %r2, [c+4];\nadd.u32 %r1, %r1, %r2;\n"
    "setp.eq.u32 %p1, %r1, 0;\n@%p1 st.global.u32 [%rd1], %r1;\nret;\n}\n";

ptx::Instruction& instruction_at(ptx::Module& module, std::size_t index) {
    std::size_t seen = 0;
    for (auto& statement : module.functions.front().body->statements)
        if (auto* instruction = std::get_if<ptx::Instruction>(&statement); instruction != nullptr && seen++ == index)
            return *instruction;
    throw std::out_of_range("no such instruction");
}

/// A parser that had taken something for something else.
struct Falsehood {
    const char* name;
    void (*apply)(ptx::Module&);
    const char* section;
};

class FalseTree : public testing::TestWithParam<Falsehood> {};

TEST_P(FalseTree, IsFound) {
    NamedModule module = named(kKernel);
    module.relocatable = false;
    GetParam().apply(module.module);
    const Identity by_tokens = check_identity(module, std::nullopt, "");
    EXPECT_EQ(by_tokens.differences.size(), 1U);
    const auto ptxas = inject::find_ptxas();
    if (!ptxas)
        GTEST_SKIP() << "no ptxas on this machine";
    const Identity identity = check_identity(module, ptxas, "");
    EXPECT_THAT(identity.differences,
                testing::Contains(testing::Field(&Difference::where, testing::StartsWith(GetParam().section))));
}

INSTANTIATE_TEST_SUITE_P(
    Trees, FalseTree,
    testing::Values(Falsehood{"offset", [](ptx::Module& m) { instruction_at(m, 1).operands[1].integer = 8; },
                              ".text.k"},
                    Falsehood{"guard", [](ptx::Module& m) { instruction_at(m, 5).guard->negated = true; }, ".text.k"},
                    Falsehood{"no_guard", [](ptx::Module& m) { instruction_at(m, 5).guard.reset(); }, ".text.k"},
                    Falsehood{"opcode", [](ptx::Module& m) { instruction_at(m, 3).parts[0] = "sub"; }, ".text.k"},
                    Falsehood{"constant", [](ptx::Module& m) { m.variables[0].initializer->parts[1].integer = 3; },
                              ".nv.constant3"},
                    Falsehood{"bounds", [](ptx::Module& m) { m.functions[0].directives.clear(); }, ".nv.info.k"}),
    [](const auto& info) { return info.param.name; });

TEST(Identity, SaysWhereAndWhat) {
    NamedModule module = named(kKernel);
    instruction_at(module.module, 1).operands[1].integer = 8;
    const Identity identity = check_identity(module, std::nullopt, "");
    ASSERT_EQ(identity.differences.size(), 1U);
    EXPECT_EQ(identity.differences[0].function, "k");
    EXPECT_EQ(identity.differences[0].where, "line 10");
    EXPECT_THAT(identity.differences[0].what, testing::HasSubstr("'+4];' was printed as '+8];'"));
    EXPECT_EQ(identity.sections, 0U);
}

TEST(Kinds, AreWhatTheTableOfEventsOffers) {
    std::size_t points = 0;
    for (const auto& kind : offered_kinds())
        for (const auto& point : kind.points) {
            ++points;
            EXPECT_TRUE(ebpf::parse_section(ebpf::to_section(point))) << kind.name;
        }
    EXPECT_GT(points, 16U);
    std::vector<std::string> names;
    for (const auto& kind : offered_kinds())
        names.push_back(kind.name);
    EXPECT_THAT(names, testing::IsSupersetOf({"gpu/kernel_entry", "gpu.grid/kernel_exit", "gpu.warp/load_return",
                                              "gpu/mem", "gpu/mem.SPACE", "gpu.warp/atomic.SPACE"}));
    EXPECT_FALSE(kinds_named("gpu/lode"));
    EXPECT_EQ(kinds_named("gpu/load.shared")->front().points.size(), 1U);
}

TEST(Kinds, HaveProgramsThatTheVerifierTakes) {
    const auto kinds = offered_kinds();
    const auto nothing = programs_that_do_nothing(kinds), count = programs_that_count(kinds);
    ASSERT_TRUE(nothing) << to_text(nothing.error());
    ASSERT_TRUE(count) << to_text(count.error());
    EXPECT_EQ(nothing->object.programs.size(), count->object.programs.size());
    EXPECT_EQ(count->object.maps.front().max_entries, count->object.programs.size());
}

TEST(AllSites, TakesAKernelAndFindsOneThatTheAssemblerRefuses) {
    if (!inject::find_ptxas())
        GTEST_SKIP() << "no ptxas on this machine";
    host::Assembler assembler;
    const auto& compiler = assembler.compiler(0);
    ASSERT_TRUE(compiler);
    auto kinds = kinds_named("gpu/mem");
    ASSERT_TRUE(kinds);
    const auto check = AllSitesCheck::make(std::move(*kinds));
    ASSERT_TRUE(check);
    const AllSites fine = check->run(named(kKernel), assembler, *compiler, "");
    EXPECT_EQ(fine.kernels, 1U);
    EXPECT_EQ(fine.sites.at("gpu/mem"), 3U);
    EXPECT_TRUE(fine.failed.empty());
    std::string wrong = kKernel;
    wrong.replace(wrong.find("setp.eq.u32"), 11, "setp.eq.u77");
    const AllSites broken = check->run(named(wrong), assembler, *compiler, "");
    EXPECT_FALSE(broken.failed.empty());
}

/// Applies a difference without context to the first text; what must come out is the second one.
std::string patched(const std::string& first, const std::string& difference) {
    std::vector<std::string> lines, out;
    std::istringstream in(first);
    for (std::string line; std::getline(in, line);)
        lines.push_back(line);
    std::istringstream hunks(difference);
    std::size_t next = 0;
    for (std::string line; std::getline(hunks, line);) {
        if (line.starts_with("--- ") || line.starts_with("+++ "))
            continue;
        if (line.starts_with("@@")) {
            const auto comma = line.find(',');
            const std::size_t begin = std::stoul(line.substr(4));
            const std::size_t until = line.substr(comma + 1, 2) == "0 " ? begin : begin - 1;
            while (next < until)
                out.push_back(lines.at(next++));
        } else if (line[0] == '+') {
            out.push_back(line.substr(1));
        } else {
            EXPECT_EQ(line.substr(1), lines.at(next));
            if (line[0] == ' ')
                out.push_back(lines.at(next));
            ++next;
        }
    }
    while (next < lines.size())
        out.push_back(lines[next++]);
    std::string text;
    for (const auto& line : out)
        text += line + "\n";
    return text;
}

TEST(UnifiedDiff, IsWhatDiffPrints) {
    EXPECT_EQ(unified_diff("a\nb\nc\n", "a\nb\nc\n", "x", "y"), "");
    EXPECT_EQ(unified_diff("a\nb\nc\n", "a\nB\nc\n", "x", "y"), "--- x\n+++ y\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n");
    EXPECT_EQ(unified_diff("", "a\n", "x", "y"), "--- x\n+++ y\n@@ -0,0 +1,1 @@\n+a\n");
    EXPECT_EQ(unified_diff("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\n5\n6\n7\n8\nN\n", "x", "y", 1),
              "--- x\n+++ y\n@@ -8,2 +8,2 @@\n 8\n-9\n+N\n");
}

TEST(UnifiedDiff, LeadsFromOneTextToTheOther) {
    std::mt19937 random(7);
    for (int round = 0; round < 300; ++round) {
        const auto text = [&] {
            std::string lines;
            for (auto count = random() % 30; count > 0; --count)
                lines += std::string(1, static_cast<char>('a' + random() % 4)) + "\n";
            return lines;
        };
        const std::string first = text(), second = text();
        for (const std::size_t context : {0U, 1U, 3U})
            EXPECT_EQ(patched(first, unified_diff(first, second, "x", "y", context)), second);
    }
}

}  // namespace
}  // namespace egpu::cli
