// SPDX-License-Identifier: Apache-2.0
// Sites of events that look at instructions, and where their text stands.
#include <gmock/gmock.h>

#include "inject/match/calls.hpp"
#include "inject/match/match.hpp"
#include "module.hpp"

namespace egpu::inject {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::kernel;

Matches sites_of(const ptx::Module& module, std::string_view section) {
    const auto point = ebpf::parse_section(section);
    EXPECT_TRUE(point) << section;
    return find_sites(module, {module.function("k")}, *point);
}

/// "[@p ]opcode[ <|> opcode of the anchor]" for each site.
std::vector<std::string> sites(const ptx::Module& module, std::string_view section) {
    std::vector<std::string> result;
    for (const auto& site : sites_of(module, section).sites) {
        std::string text;
        if (site.guard)
            text = (site.guard->negated ? "@!" : "@") + std::string(site.guard->predicate) + " ";
        text += site.instruction->opcode;
        if (site.anchor != site.instruction || site.behind)
            text += (site.behind ? " > " : " < ") + std::string(site.anchor->opcode);
        result.push_back(std::move(text));
    }
    return result;
}

TEST(InstructionSites, ByPatternOnTheWholeOpcode) {
    const auto module = kernel(
        "ld.global.f32 %f1,[%rd1]; @%p1 ld .global.v4 .f32 {%f1,%f2,%f3,%f4},[%rd1]; ld.shared.u32 %r1,[%r2];\n"
        "@!%p2 add.s32 %r1,%r1,1; ld.global.L1::no_allocate.f32 %f1,[%rd1]; ret;");
    EXPECT_THAT(sites(module, "gpu/instruction/ld.global.f32"), ElementsAre("ld.global.f32"));
    EXPECT_THAT(sites(module, "gpu/instruction/ld.global.*f32"),
                ElementsAre("ld.global.f32", "@%p1 ld .global.v4 .f32", "ld.global.L1::no_allocate.f32"));
    EXPECT_THAT(sites(module, "gpu/instruction/*.v4.*"), ElementsAre("@%p1 ld .global.v4 .f32"));
    EXPECT_THAT(sites(module, "gpu/instruction/add.s32"), ElementsAre("@!%p2 add.s32"));
    EXPECT_THAT(sites(module, "gpu/instruction/add"), IsEmpty());
    EXPECT_EQ(sites(module, "gpu/instruction/*").size(), 6u);
}

TEST(InstructionSites, BarriersOfBlocksAndClusters) {
    const auto module = kernel(
        "bar.sync 0; bar.warp.sync 1; @%p1 barrier.sync 1, 64; bar.cta.red.or.pred %p1, 0, %p2;\n"
        "barrier.cluster.arrive; barrier.cluster.wait; bar.arrive 1, 64; membar.gl;\n"
        "mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], 0; ret;");
    EXPECT_THAT(sites(module, "gpu/barrier"),
                ElementsAre("bar.sync", "@%p1 barrier.sync", "bar.cta.red.or.pred", "barrier.cluster.arrive",
                            "barrier.cluster.wait", "bar.arrive"));
    EXPECT_THAT(sites(module, "gpu/instruction/mbarrier.try_wait*"),
                ElementsAre("mbarrier.try_wait.parity.shared::cta.b64"));
}

/// A guard of a branch is its condition: the site is for all lanes.
TEST(InstructionSites, BranchesAreForAllThatGetThere) {
    const auto module = kernel("@%p1 bra A; bra.uni A; A: ts: .branchtargets A; @!%p2 brx.idx %r1, ts; ret;");
    EXPECT_THAT(sites(module, "gpu/branch"), ElementsAre("bra", "bra.uni", "brx.idx"));
    EXPECT_THAT(sites(module, "gpu/instruction/br*"), ElementsAre("@%p1 bra", "bra.uni", "@!%p2 brx.idx"));
}

TEST(InstructionSites, MatrixProducts) {
    const auto module = kernel(
        "wmma.load.a.sync.aligned.row.m8n8k4.global.f64 {%rd1}, [%rd2]; @%p1 mma.sync.aligned.x; mma.sp.sync.x;\n"
        "wmma.mma.sync.aligned.x; wgmma.fence.sync.aligned; wgmma.mma_async.sync.x; wgmma.mma_async.sp.sync.x;\n"
        "wgmma.commit_group.sync.aligned; tcgen05.mma.x; tcgen05.commit.x; dp4a.s32.s32 %r1, %r2, %r3, %r4; ret;");
    EXPECT_THAT(sites(module, "gpu.warp/mma"),
                ElementsAre("@%p1 mma.sync.aligned.x", "mma.sp.sync.x", "wmma.mma.sync.aligned.x",
                            "wgmma.mma_async.sync.x", "wgmma.mma_async.sp.sync.x", "tcgen05.mma.x"));
}

TEST(InstructionSites, BlocksBeginAtLabelsAndBehindBranches) {
    const auto module = kernel(
        "mov.u32 %r1, 0; add.s32 %r1,%r1,1; @%p1 bra B; @%p2 sub.s32 %r1,%r1,1; call f; mul.lo.s32 %r1,%r1,2;\n"
        "A: B: xor.b32 %r1,%r1,1; @%p1 ret; { C: not.b32 %r1,%r1; exit; } or.b32 %r1,%r1,1; bra A; D:",
        ".func f() { ret; }");
    EXPECT_THAT(sites(module, "gpu/basic_block"), ElementsAre("mov.u32", "sub.s32", "xor.b32", "not.b32", "or.b32"));
}

TEST(InstructionSites, NothingStandsInACallsSequence) {
    const auto module = kernel(
        "{ .param .b32 a; .param .b32 b; .param .b32 r; st.param.b32 [a],%r1; @%p1 add.s32 %r2,%r2,1;\n"
        "st.param::func.b32 [b],%r2; call.uni (r), f, (a,b); ld.param::func.b32 %r3,[r]; add.s32 %r3,%r3,1; } ret;",
        ".func (.param .b32 r) f(.param .b32 a, .param .b32 b) { ret; }");
    EXPECT_THAT(sites(module, "gpu/call"), ElementsAre("call.uni < st.param.b32"));
    EXPECT_THAT(sites(module, "gpu/instruction/*"),
                ElementsAre("st.param.b32", "@%p1 add.s32 < st.param.b32", "st.param::func.b32 < st.param.b32",
                            "call.uni < st.param.b32", "ld.param::func.b32 > ld.param::func.b32", "add.s32", "ret"));
    EXPECT_THAT(sites_of(module, "gpu/instruction/*").notes, IsEmpty());
}

/// A function that stores its own result and calls another elsewhere: that store is no argument.
TEST(InstructionSites, AResultOfTheFunctionIsNoArgument) {
    const auto module = testing::parse_or_die(
        ".version 7.8\n.target sm_90\n.address_size 64\n.func g() { ret; }\n"
        ".func (.param .b32 result) k(.param .b32 a)\n{ .reg .b32 %r<4>; .reg .pred %p<2>; @%p1 bra L;\n"
        "st.param.b32 [result], %r1; ret; L: add.s32 %r1, %r1, 1; call g; ld.param.b32 %r2, [a]; ret; }\n");
    EXPECT_THAT(sites(module, "gpu/call"), ElementsAre("call"));
    EXPECT_THAT(sites(module, "gpu/instruction/add.*"), ElementsAre("add.s32"));
    EXPECT_THAT(sites(module, "gpu/instruction/*.param.*"), ElementsAre("st.param.b32", "ld.param.b32"));
    EXPECT_THAT(sites_of(module, "gpu/instruction/*").notes, IsEmpty());
}

/// What can't be said at an end of the sequence is in the notes.
TEST(InstructionSites, GuardsThatAreWrittenInACallsSequence) {
    const auto module = kernel(
        "{ .param .b32 a; st.param.b32 [a],%r1; setp.eq.s32 %p1|%p2,%r1,3; @%p2 add.s32 %r1,%r1,1; @%p3 call f, (a); "
        "}\n"
        "{ .param .b32 a; .param .b32 r; st.param.b32 [a],%r1; @%p1 bra L; L: call.uni (r), g, (a);\n"
        "ld.param.b32 %r3,[r]; } ret;",
        ".func f(.param .b32 a) { ret; } .func (.param .b32 r) g(.param .b32 a) { ret; }");
    EXPECT_THAT(sites(module, "gpu/instruction/add.*"), IsEmpty());
    EXPECT_THAT(sites(module, "gpu/call"), ElementsAre("@%p3 call < st.param.b32"));
    const auto notes = sites_of(module, "gpu/call").notes;
    ASSERT_EQ(notes.size(), 1u);
    EXPECT_EQ(notes[0].code, "EGPU-P256");
    EXPECT_EQ(sites_of(module, "gpu/instruction/add.*").notes.size(), 1u);
}

}  // namespace
}  // namespace egpu::inject
