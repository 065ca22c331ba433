// SPDX-License-Identifier: Apache-2.0
// What a copy keeps, how it reaches the original's variables, and which kernels have none. Golden files and refusals in
// tests/data/ptx/inject/{clone,refused}; EGPU_UPDATE_GOLDEN=1 writes the golden files anew.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>

#include "../session.hpp"
#include "inject/compile/compile.hpp"

namespace egpu::inject {
namespace {

using testing::Session;

std::vector<std::string> files_in(const std::string& folder) {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(EGPU_TEST_DATA "/ptx/inject/" + folder))
        if (entry.path().extension() == ".ptx")
            names.push_back(entry.path().stem().string());
    std::sort(names.begin(), names.end());
    return names;
}

std::string path_of(const std::string& folder, const std::string& name, const std::string& extension) {
    return fmt::format("{}/ptx/inject/{}/{}.{}", EGPU_TEST_DATA, folder, name, extension);
}

std::string header(const std::string& text, const std::string& key) {
    const std::string begin = "// " + key + ": ";
    const std::size_t at = text.find(begin);
    return at == std::string::npos ? "" : text.substr(at + begin.size(), text.find('\n', at) - at - begin.size());
}

class Reassembled : public ::testing::TestWithParam<std::string> {};

TEST_P(Reassembled, BeforeAndAfter) {
    const auto text = read_text(path_of("clone", GetParam(), "ptx"));
    ASSERT_TRUE(text);
    const auto module = testing::read_module(path_of("clone", GetParam(), "ptx"));
    const auto copy = reassembled_copy(module, header(*text, "kernel"));
    ASSERT_TRUE(copy) << to_text(copy.error());
    const std::string golden = path_of("clone", GetParam(), "expected");
    if (std::getenv("EGPU_UPDATE_GOLDEN") != nullptr) {
        ASSERT_TRUE(write_file(golden, *copy));
    }
    const auto expected = read_text(golden);
    ASSERT_TRUE(expected) << golden;
    EXPECT_EQ(*copy, *expected);
    if (const auto ptxas = find_ptxas()) {
        const auto compiled = compile_ptx(*ptxas, *copy, header(*text, "kernel"), {std::string(module.target), {}, 60});
        EXPECT_TRUE(compiled) << to_text(compiled.error());
    }
}
INSTANTIATE_TEST_SUITE_P(Clone, Reassembled, ::testing::ValuesIn(files_in("clone")),
                         [](const auto& information) { return information.param; });

class Refused : public ::testing::TestWithParam<std::string> {};

TEST_P(Refused, WithItsCodeAndWhatToDo) {
    const auto text = read_text(path_of("refused", GetParam(), "ptx"));
    ASSERT_TRUE(text);
    const auto module = testing::read_module(path_of("refused", GetParam(), "ptx"));
    Session session;
    session.attach("bandwidth");
    const auto copy = build_copy(session.request(module, header(*text, "kernel")));
    ASSERT_FALSE(copy) << copy->ptx;
    const Diagnostic& refusal = copy.error();
    EXPECT_EQ(refusal.code, header(*text, "code")) << to_text(refusal);
    EXPECT_FALSE(refusal.message.empty());
    EXPECT_TRUE(!refusal.fix.empty() || !refusal.hints.empty() || refusal.code == "EGPU-P201") << to_text(refusal);
    EXPECT_FALSE(reassembled_copy(module, header(*text, "kernel")));
}
INSTANTIATE_TEST_SUITE_P(Clone, Refused, ::testing::ValuesIn(files_in("refused")),
                         [](const auto& information) { return information.param; });

constexpr const char* kSmall = R"(.version 6.0
.target sm_70
.address_size 64
.global .u32 counter;
.visible .entry k(.param .u64 p) {
	.reg .b32 %r<3>; .reg .b64 %rd<3>;
	ld.param.u64 %rd1, [p];
	cvta.to.global.u64 %rd2, %rd1;
	ld.global.u32 %r1, [%rd2];
	red.global.add.u32 [counter], %r1;
	ret;
}
)";

ptx::Module small() {
    auto module = ptx::parse(kSmall, "small.ptx");
    EXPECT_TRUE(module);
    return std::move(*module);
}

TEST(Copy, VersionIsRaisedToWhatTheProbesNeedAndTargetStays) {
    const auto module = small();
    Session session;
    session.attach("coalescing");
    const auto copy = build_copy(session.request(module, "k"));
    ASSERT_TRUE(copy) << to_text(copy.error());
    EXPECT_THAT(copy->ptx, ::testing::HasSubstr(".version 6.2"));  // activemask
    EXPECT_THAT(copy->ptx, ::testing::HasSubstr(".target sm_70\n"));
    const auto plain = reassembled_copy(module, "k");
    ASSERT_TRUE(plain);
    EXPECT_THAT(*plain, ::testing::HasSubstr(".version 6.0"));
}

TEST(Copy, TableSaysWhatEachWordHolds) {
    const auto module = small();
    Session session;
    session.attach("bandwidth");
    const auto copy = build_copy(session.request(module, "k"));
    ASSERT_TRUE(copy) << to_text(copy.error());
    EXPECT_EQ(copy->sites, 2u);
    ASSERT_EQ(copy->outcomes.size(), 1u);
    EXPECT_EQ(copy->outcomes[0].sites, 2u);
    std::vector<std::string> entries;
    for (const auto& entry : copy->table)
        entries.push_back(entry.kind == TableEntry::Kind::global
                              ? entry.symbol
                              : fmt::format("map {} slot {}", entry.map, entry.slot));
    EXPECT_THAT(entries, ::testing::ElementsAre("counter", "map 0 slot 0")) << "slot 1 is found from slot 0";
    EXPECT_THAT(copy->ptx, ::testing::HasSubstr("egpu_table[2]"));
}

/// Addresses that go through `steps` registers, each written in front of the one that it comes from.
ptx::Module backwards(int steps) {
    std::string text =
        ".version 7.8\n.target sm_90\n.address_size 64\n.const .u32 table[4];\n.const .u32 direct;\n"
        ".visible .entry k()\n{\n.reg .b32 %r<3>; .reg .b64 %rd<100>;\nld.const.u32 %r1, [%rd0];\n"
        "ld.const.u32 %r2, [direct];\n";
    for (int step = 0; step < steps; ++step)
        text += fmt::format("mov.u64 %rd{}, %rd{};\n", step, step + 1);
    auto module = ptx::parse(text + fmt::format("mov.u64 %rd{}, table;\nret;\n}}\n", steps), "backwards");
    EXPECT_TRUE(module);
    return std::move(*module);
}

TEST(Copy, ConstantsThatAreTediousToFollowAreReadByAddress) {
    for (const int steps : {5, 90}) {
        const auto module = backwards(steps);
        Session session;
        session.attach("bandwidth");
        auto request = session.request(module, "k");
        request.constants_in_bank = true;
        const auto copy = build_copy(request);
        ASSERT_TRUE(copy) << to_text(copy.error());
        ASSERT_EQ(copy->bank.size(), steps == 5 ? 2u : 1u);
        EXPECT_EQ(copy->bank.back().symbol, "direct");
        EXPECT_EQ(copy->ptx.find("ld.const.u32 %r1, [%rd0]") != std::string::npos, steps == 5);
    }
}

TEST(Copy, NothingMatchedIsNoSites) {
    const auto module = small();
    Session session;
    session.attach("latency");
    auto request = session.request(module, "k");
    request.programs.clear();
    const auto copy = build_copy(request);
    ASSERT_TRUE(copy);
    EXPECT_EQ(copy->sites, 0u);
    EXPECT_EQ(copy->accumulators, 0u);
}

TEST(Copy, KernelPatternOfAProgramIsKept) {
    const auto module = small();
    Session session;
    session.attach("named_kernel");
    const auto copy = build_copy(session.request(module, "k"));
    ASSERT_TRUE(copy) << to_text(copy.error());
    EXPECT_EQ(copy->sites, 0u);
}

TEST(Copy, SitesOfSeveralObjectsHaveOneNumber) {
    const auto module = small();
    Session session;
    session.attach("bandwidth");
    session.attach("coalescing");
    session.attach("latency");
    const auto copy = build_copy(session.request(module, "k"));
    ASSERT_TRUE(copy) << to_text(copy.error());
    ASSERT_EQ(session.sites().size(), 2u);
    EXPECT_EQ(session.sites()[0].opcode, "ld.global.u32");
    EXPECT_EQ(session.sites()[0].kernel_id, 7u);
    EXPECT_EQ(session.keys(session.map("coalescing/lines")).used(), 2u);
    EXPECT_EQ(session.keys(session.map("latency/load_latency")).used(), 1u);
    EXPECT_EQ(session.keys(session.map("bandwidth/traffic")).used(), 2u);
}

/// A value that no program can be given costs the program this instruction, not all programs the kernel.
TEST(Copy, ValuesThatCannotBeRead) {
    const std::string text = R"(.version 8.3
.target sm_90
.address_size 64
.visible .entry k(.param .u64 a)
{
	.reg .b32 %r<3>;
	.reg .b64 %rd<2>;
	.reg .b128 %rq<3>;
	ld.param.u64 %rd1, [a];
	cvta.to.global.u64 %rd1, %rd1;
	atom.global.add.u32 %r1, [%rd1], 1;
	mov.b128 %rq1, {%rd1, %rd1};
	atom.global.exch.b128 %rq2, [%rd1+16], %rq1;
	st.global.u32 [%rd1+4], %r1;
	ret;
}
)";
    const auto module = ptx::parse(text, "values");
    ASSERT_TRUE(module) << to_text(module.error());
    Session session;
    session.attach("atomics", "value_by_thread");
    session.attach("bandwidth");
    const auto copy = build_copy(session.request(*module, "k"));
    ASSERT_TRUE(copy) << to_text(copy.error());
    EXPECT_EQ(copy->outcomes[0].sites, 1u);
    ASSERT_EQ(copy->outcomes[0].notes.size(), 1u);
    EXPECT_EQ(copy->outcomes[0].notes[0].code, "EGPU-P226");
    EXPECT_THAT(copy->outcomes[0].notes[0].message, ::testing::HasSubstr("'atom.global.exch.b128' is not counted: "));
    EXPECT_EQ(copy->outcomes[1].sites, 3u);
    EXPECT_THAT(copy->outcomes[1].notes, ::testing::IsEmpty());
}

}  // namespace
}  // namespace egpu::inject
