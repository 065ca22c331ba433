// SPDX-License-Identifier: Apache-2.0
#include "inject/match/flow.hpp"

#include <gmock/gmock.h>

#include <fmt/format.h>

#include "module.hpp"

namespace egpu::inject {
namespace {

using testing::kernel;

/// Depth of the loads, in the order of the text.
std::vector<std::uint32_t> load_depths(const std::string& body) {
    const auto module = kernel(body);
    const Outline outline(module, *module.function("k"));
    const auto depths = loop_depths(outline);
    std::vector<std::uint32_t> result;
    for (std::size_t index = 0; index < depths.size(); ++index)
        if (const auto* instruction = outline.items()[index].instruction();
            instruction && instruction->parts[0] == "ld")
            result.push_back(depths[index]);
    return result;
}

TEST(LoopDepth, StraightCodeHasNone) {
    EXPECT_THAT(load_depths("ld.u32 %r1,[%rd1]; ret;"), ::testing::ElementsAre(0));
}

TEST(LoopDepth, NestedLoopsAddUp) {
    EXPECT_THAT(load_depths(R"(
        ld.u32 %r1,[%rd1];
    OUTER:
        ld.u32 %r2,[%rd1];
    INNER:
        ld.u32 %r3,[%rd1];
        @%p1 bra INNER;
        ld.u32 %r4,[%rd1];
        @%p2 bra OUTER;
        ld.u32 %r5,[%rd1];
        ret;)"),
                ::testing::ElementsAre(0, 1, 2, 1, 0));
}

TEST(LoopDepth, BranchOutAndBackIsInTheLoop) {
    EXPECT_THAT(load_depths(R"(
    HEAD:
        @%p1 bra AWAY;
        ld.u32 %r1,[%rd1];
    LATCH:
        @%p2 bra HEAD;
        ret;
    AWAY:
        ld.u32 %r2,[%rd1];
        bra LATCH;)"),
                ::testing::ElementsAre(1, 1));
}

TEST(LoopDepth, JumpIntoALoopKeepsItALoop) {
    EXPECT_THAT(load_depths(R"(
        @%p1 bra MIDDLE;
    HEAD:
        ld.u32 %r1,[%rd1];
    MIDDLE:
        ld.u32 %r2,[%rd1];
        @%p2 bra HEAD;
        ld.u32 %r3,[%rd1];
        ret;)"),
                ::testing::ElementsAre(1, 1, 0));
}

TEST(LoopDepth, IndexedBranchIsFollowed) {
    EXPECT_THAT(load_depths(R"(
    HEAD:
        ts: .branchtargets ONE, TWO;
        brx.idx %r1, ts;
    ONE:
        ld.u32 %r1,[%rd1];
        bra HEAD;
    TWO:
        ld.u32 %r2,[%rd1];
        ret;)"),
                ::testing::ElementsAre(1, 0));
}

TEST(LoopDepth, ManyLoopsEndInTime) {
    std::string body;
    for (int loop = 0; loop < 4000; ++loop)
        body += fmt::format("L{}:\n", loop);
    body += "ld.u32 %r1,[%rd1];\n";
    for (int loop = 4000; loop-- > 0;)
        body += fmt::format("@%p1 bra L{};\nadd.u32 %r2,%r2,1;\n", loop);
    const auto depths = load_depths(body + "ret;");
    ASSERT_EQ(depths.size(), 1u);
    EXPECT_TRUE(depths[0] == 4000 || depths[0] == 0) << depths[0];
}

TEST(FallOff, OnlyWhereTheEndCanBeReached) {
    const auto ends = [](const std::string& body) {
        const auto module = kernel(body);
        return may_fall_off_the_end(Outline(module, *module.function("k")));
    };
    EXPECT_FALSE(ends("ret;"));
    EXPECT_FALSE(ends("ret; $L__func_end0:"));
    EXPECT_TRUE(ends("@%p1 bra END; ret; END:"));
    EXPECT_TRUE(ends("mov.u32 %r1, 0;"));
    EXPECT_TRUE(ends("@%p1 ret;"));
    EXPECT_TRUE(ends(""));
    EXPECT_FALSE(ends("L: bra L;"));
}

}  // namespace
}  // namespace egpu::inject
