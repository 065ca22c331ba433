// SPDX-License-Identifier: Apache-2.0
// Lanes that go different ways: where they meet, that all make progress, what is reported.
#include <numeric>

#include "device.hpp"

namespace egpu::simulated::test {
namespace {

TEST(Divergence, VectorAddWithEarlyReturn) {
    Device device;
    const std::uint32_t count = 1000;
    std::vector<float> a(count), b(count);
    std::iota(a.begin(), a.end(), 1.0F);
    std::iota(b.begin(), b.end(), 0.5F);
    const auto pa = device.upload(a), pb = device.upload(b), pc = device.upload(std::vector<float>(count));
    const auto result = device.run(R"(
.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)
{
  .reg .pred %p<2>; .reg .f32 %f<4>; .reg .b32 %r<6>; .reg .b64 %rd<11>;
  ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u64 %rd3, [c]; ld.param.u32 %r2, [n];
  mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mov.u32 %r5, %tid.x;
  mad.lo.s32 %r1, %r3, %r4, %r5;
  setp.ge.s32 %p1, %r1, %r2;
  @%p1 bra $done;
  cvta.to.global.u64 %rd4, %rd1; mul.wide.s32 %rd5, %r1, 4; add.s64 %rd6, %rd4, %rd5;
  cvta.to.global.u64 %rd7, %rd2; add.s64 %rd8, %rd7, %rd5;
  ld.global.f32 %f1, [%rd8]; ld.global.f32 %f2, [%rd6];
  add.f32 %f3, %f2, %f1;
  cvta.to.global.u64 %rd9, %rd3; add.s64 %rd10, %rd9, %rd5;
  st.global.f32 [%rd10], %f3;
$done:
  ret;
})",
                                   {8, 1, 1}, {128, 1, 1}, Parameters().add(pa).add(pb).add(pc).add(count));
    ASSERT_TRUE(result) << why(result);
    const auto c = device.download<float>(pc, count);
    for (std::uint32_t i = 0; i < count; ++i) {
        ASSERT_EQ(c[i], a[i] + b[i]) << i;
    }
    EXPECT_EQ(result.statistics.blocks, 8U);
}

/// Runs a kernel of 32 threads that stores one word each.
std::vector<std::uint32_t> run_warp(const std::string& body, std::uint32_t blocks = 1) {
    Device device;
    device.environment.step_budget = 50'000'000;
    const auto out = device.upload(std::vector<std::uint32_t>(64));
    const auto result = device.run(R"(
.visible .entry k(.param .u64 out)
{
  .reg .pred %p<9>; .reg .b32 %r<20>; .reg .b64 %rd<9>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, 0;
)" + body + R"(
  mul.wide.u32 %rd2, %r0, 4;
  add.u64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r1;
  ret;
})",
                                   {blocks, 1, 1}, {32, 1, 1}, Parameters().add(out));
    EXPECT_TRUE(result) << why(result);
    return device.download<std::uint32_t>(out, 64);
}

TEST(Divergence, NestedBranchesMeetAtTheirPostDominators) {
    const auto got = run_warp(R"(
  and.b32 %r2, %r0, 1; setp.eq.u32 %p1, %r2, 0;
  @%p1 bra $even;
  add.u32 %r1, %r1, 1;
  setp.lt.u32 %p2, %r0, 16;
  @%p2 bra $odd_low;
  add.u32 %r1, %r1, 10;
  bra.uni $odd_meet;
$odd_low:
  add.u32 %r1, %r1, 20;
$odd_meet:
  activemask.b32 %r3;
  setp.eq.u32 %p3, %r3, 0xaaaaaaaa;
  @%p3 add.u32 %r1, %r1, 100;
  bra.uni $meet;
$even:
  add.u32 %r1, %r1, 2;
$meet:
  activemask.b32 %r3;
  setp.eq.u32 %p3, %r3, 0xffffffff;
  @%p3 add.u32 %r1, %r1, 1000;)");
    for (std::uint32_t i = 0; i < 32; ++i) {
        EXPECT_EQ(got[i], i % 2 == 0 ? 1002U : i < 16 ? 1121U : 1111U) << i;
    }
}

TEST(Divergence, LoopsOfDifferentLength) {
    // Lane i goes round the outer loop i times and the inner one i * j times.
    const auto got = run_warp(R"(
  mov.u32 %r2, 0;
$outer:
  setp.ge.u32 %p1, %r2, %r0;
  @%p1 bra $done;
  mov.u32 %r3, 0;
$inner:
  add.u32 %r1, %r1, 1;
  add.u32 %r3, %r3, 1;
  setp.le.u32 %p2, %r3, %r2;
  @%p2 bra $inner;
  add.u32 %r2, %r2, 1;
  bra.uni $outer;
$done:
  activemask.b32 %r3;
  setp.ne.u32 %p3, %r3, 0xffffffff;
  @%p3 mov.u32 %r1, 0xdead;)");
    for (std::uint32_t i = 0; i < 32; ++i) {
        EXPECT_EQ(got[i], i * (i + 1) / 2) << i;
    }
}

TEST(Divergence, LeavingALoopByReturnAndByBreak) {
    const auto got = run_warp(R"(
$loop:
  add.u32 %r1, %r1, 1;
  setp.eq.u32 %p1, %r1, 5;
  and.b32 %r2, %r0, 1; setp.eq.and.u32 %p2, %r2, 1, %p1;
  @%p2 exit;
  setp.gt.u32 %p3, %r1, %r0;
  @%p3 bra $done;
  bra.uni $loop;
$done:)");
    for (std::uint32_t i = 0; i < 32; ++i) {
        const bool left = i % 2 == 1 && i + 1 > 4;  // at the fifth turn, unless it was through before
        EXPECT_EQ(got[i], left ? 0 : i + 1) << i;
    }
}

TEST(Divergence, LanesThatLockEachOtherOutMakeProgress) {
    // A spin lock taken by every lane of a warp: the winner must not wait for the losers.
    const auto got = run_warp(R"(
$spin:
  atom.global.cas.b32 %r2, [%rd1+128], 0, 1;
  setp.ne.u32 %p1, %r2, 0;
  @%p1 bra $spin;
  ld.volatile.global.u32 %r3, [%rd1+132];
  add.u32 %r3, %r3, 1;
  st.volatile.global.u32 [%rd1+132], %r3;
  membar.gl;
  atom.global.exch.b32 %r2, [%rd1+128], 0;
  mov.u32 %r1, %r3;)",
                              3);
    EXPECT_EQ(got[32], 0U);
    EXPECT_EQ(got[33], 96U);
}

TEST(Divergence, LongLoopsWithCountersKeepLockStep) {
    // What a probe adds to a kernel must not part lanes: one lane counts 20,000 times, the others wait for it.
    const auto got = run_warp(R"(
  setp.ne.u32 %p1, %r0, 3;
  @%p1 bra $meet;
  mov.u32 %r2, 0;
$loop:
  red.global.add.u32 [%rd1+128], 1;
  add.u32 %r2, %r2, 1;
  setp.lt.u32 %p2, %r2, 20000;
  @%p2 bra $loop;
$meet:
  activemask.b32 %r1;)");
    for (std::uint32_t i = 0; i < 32; ++i) {
        EXPECT_EQ(got[i], 0xffffffffU) << i;
    }
    EXPECT_EQ(got[32], 20'000U);
}

TEST(Divergence, WaitingLoopThatDivergesInside) {
    // Lane 1 has left the loop and would write what the others wait for, who part and meet in every turn.
    const auto got = run_warp(R"(
$loop:
  setp.eq.u32 %p1, %r0, 1;
  @%p1 bra $out;
  ld.volatile.global.u32 %r3, [%rd1+200];
  and.b32 %r4, %r0, 1; setp.eq.u32 %p2, %r4, 0;
  @%p2 bra $even;
  add.u32 %r5, %r5, 1;
  bra.uni $join;
$even:
  add.u32 %r5, %r5, 2;
$join:
  setp.eq.u32 %p3, %r3, 0;
  @%p3 bra $loop;
$out:
  @%p1 st.volatile.global.u32 [%rd1+200], 7;
  ld.volatile.global.u32 %r1, [%rd1+200];)");
    EXPECT_EQ(got[0], 7U);
    EXPECT_EQ(got[1], 7U);
    EXPECT_EQ(got[31], 7U);
}

TEST(Divergence, ProducerAndConsumerInOneWarp) {
    // Lane 0 waits for what lane 1 writes on the other side of the branch.
    const auto got = run_warp(R"(
  setp.eq.u32 %p1, %r0, 0;
  @%p1 bra $consumer;
  setp.eq.u32 %p2, %r0, 1;
  @%p2 st.volatile.global.u32 [%rd1+200], 77;
  bra.uni $meet;
$consumer:
  nanosleep.u32 20;
  ld.volatile.global.u32 %r1, [%rd1+200];
  setp.eq.u32 %p3, %r1, 0;
  @%p3 bra $consumer;
$meet:)");
    EXPECT_EQ(got[0], 77U);
}

TEST(Divergence, IndexedBranches) {
    const auto got = run_warp(R"(
  and.b32 %r2, %r0, 3;
$table: .branchtargets $a, $b, $c, $d;
  brx.idx %r2, $table;
$a: mov.u32 %r1, 10; bra.uni $meet;
$b: mov.u32 %r1, 20;
$c: add.u32 %r1, %r1, 3; bra.uni $meet;
$d: mov.u32 %r1, 40;
$meet:
  activemask.b32 %r3;
  add.u32 %r1, %r1, 1000;
  setp.ne.u32 %p1, %r3, 0xffffffff;
  @%p1 mov.u32 %r1, 0;)");
    const std::uint32_t expected[] = {1010, 1023, 1003, 1040};
    for (std::uint32_t i = 0; i < 32; ++i) {
        EXPECT_EQ(got[i], expected[i % 4]) << i;
    }
}

TEST(Divergence, EveryLaneInItsOwnBranch) {
    std::string body;
    for (int i = 0; i < 32; ++i) {
        const std::string n = std::to_string(i);
        body += "  setp.ne.u32 %p1, %r0, " + n + ";\n  @%p1 bra $next" + n + ";\n  mov.u32 %r1, " +
                std::to_string(i * 3) + ";\n$next" + n + ":\n";
    }
    const auto got = run_warp(body);
    for (std::uint32_t i = 0; i < 32; ++i) {
        EXPECT_EQ(got[i], i * 3);
    }
}

/// Tiles of 8 lanes that execute one shuffle, each naming itself.
TEST(Divergence, TilesNameTheirOwnMembers) {
    const auto got = run_warp(R"(
  and.b32 %r2, %r0, -8;
  mov.u32 %r3, 255;
  shl.b32 %r3, %r3, %r2;
  shfl.sync.bfly.b32 %r1, %r0, 5, 6175, %r3;)");
    for (std::uint32_t i = 0; i < 32; ++i) {
        EXPECT_EQ(got[i], i ^ 5);
    }
}

TEST(Divergence, TilesThatComeInPartsWaitForTheirOwnLanes) {
    const auto got = run_warp(R"(
  and.b32 %r2, %r0, -8;
  mov.u32 %r3, 255;
  shl.b32 %r3, %r3, %r2;
  and.b32 %r2, %r0, 1;
  setp.eq.u32 %p1, %r2, 0;
  @%p1 bra $even;
  shfl.sync.bfly.b32 %r1, %r0, 5, 6175, %r3;
  bra.uni $meet;
$even:
  shfl.sync.bfly.b32 %r1, %r0, 5, 6175, %r3;
$meet:
  activemask.b32 %r3;
  setp.ne.u32 %p1, %r3, 0xffffffff;
  @%p1 mov.u32 %r1, 99;)");
    for (std::uint32_t i = 0; i < 32; ++i) {
        EXPECT_EQ(got[i], i ^ 5);
    }
}

/// A barrier does not wait for lanes that have nothing to do but to leave.
TEST(Divergence, LanesThatReturnEarlyAreNotWaitedFor) {
    Device device;
    const auto out = device.upload(std::vector<std::uint32_t>(64));
    const auto result = device.run(R"(
.visible .entry k(.param .u64 out)
{
  .reg .pred %p<2>; .reg .b32 %r<3>; .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  setp.ge.u32 %p1, %r1, 40;
  @%p1 bra $out;
  bar.sync 0;
  mad.wide.u32 %rd2, %r1, 4, %rd1;
  st.global.u32 [%rd2], 7;
$out:
  ret;
})",
                                   {1, 1, 1}, {64, 1, 1}, Parameters().add(out));
    ASSERT_TRUE(result) << why(result);
    const auto got = device.download<std::uint32_t>(out, 64);
    EXPECT_EQ(got[39], 7U);
    EXPECT_EQ(got[40], 0U);
}

}  // namespace
}  // namespace egpu::simulated::test
