// SPDX-License-Identifier: Apache-2.0
// Instructions of a warp and of a block: shuffles, votes, barriers, atomics, special registers, the clocks.
#include <ctime>
#include <numeric>

#include "device.hpp"

namespace egpu::simulated::test {
namespace {

/// A kernel whose lanes compute %r1 from %r0 (the lane) and store it at out[thread].
std::string lane_kernel(const std::string& body) {
    return R"(
.visible .entry k(.param .u64 out)
{
  .reg .pred %p<9>; .reg .b32 %r<20>; .reg .b64 %rd<20>;
  mov.u32 %r0, %laneid;
  mov.u32 %r1, 0;
)" + body + R"(
  ld.param.u64 %rd1, [out];
  mov.u32 %r19, %tid.x;
  mul.wide.u32 %rd2, %r19, 4;
  add.u64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r1;
  ret;
})";
}

std::vector<std::uint32_t> run_lanes(const std::string& body, std::uint32_t threads = 32) {
    Device device;
    const auto out = device.upload(std::vector<std::uint32_t>(threads));
    const auto result = device.run(lane_kernel(body), {1, 1, 1}, {threads, 1, 1}, Parameters().add(out));
    EXPECT_TRUE(result) << why(result);
    return device.download<std::uint32_t>(out, threads);
}

TEST(Warp, ShuffleModes) {
    const auto up = run_lanes("shfl.sync.up.b32 %r1|%p1, %r0, 3, 0, -1; @!%p1 add.u32 %r1, %r1, 1000;");
    const auto down = run_lanes("shfl.sync.down.b32 %r1|%p1, %r0, 5, 31, -1; @!%p1 add.u32 %r1, %r1, 1000;");
    const auto butterfly = run_lanes("shfl.sync.bfly.b32 %r1|%p1, %r0, 7, 31, -1;");
    // Segments of 8 lanes: c = (32 - 8) << 8 | 31.
    const auto index = run_lanes("shfl.sync.idx.b32 %r1|%p1, %r0, 2, 0x181f, -1;");
    const auto narrow = run_lanes("shfl.sync.down.b32 %r1|%p1, %r0, 4, 0x181f, -1; @!%p1 add.u32 %r1, %r1, 1000;");
    for (std::uint32_t lane = 0; lane < 32; ++lane) {
        EXPECT_EQ(up[lane], lane >= 3 ? lane - 3 : lane + 1000) << lane;
        EXPECT_EQ(down[lane], lane + 5 < 32 ? lane + 5 : lane + 1000) << lane;
        EXPECT_EQ(butterfly[lane], lane ^ 7) << lane;
        EXPECT_EQ(index[lane], (lane & ~7U) + 2) << lane;
        EXPECT_EQ(narrow[lane], (lane & 7) + 4 < 8 ? lane + 4 : lane + 1000) << lane;
    }
}

TEST(Warp, ShuffleOfDifferentBranchesMeets) {
    // The two halves execute different shuffles with one member mask: all lanes take part.
    const auto result = run_lanes(R"(
  setp.lt.u32 %p1, %r0, 16;
  @%p1 bra $low;
  shfl.sync.bfly.b32 %r1, %r0, 16, 31, -1;
  bra.uni $meet;
$low:
  add.u32 %r2, %r0, 100;
  shfl.sync.bfly.b32 %r1, %r2, 16, 31, -1;
$meet:)");
    for (std::uint32_t lane = 0; lane < 32; ++lane) {
        EXPECT_EQ(result[lane], lane < 16 ? lane + 16 : lane - 16 + 100) << lane;
    }
}

TEST(Warp, ShuffleUnderDivergenceNamesItsLanes) {
    const auto result = run_lanes(R"(
  and.b32 %r2, %r0, 1;
  setp.eq.u32 %p1, %r2, 0;
  @!%p1 bra $skip;
  shfl.sync.down.b32 %r1, %r0, 2, 31, 0x55555555;
$skip:)");
    for (std::uint32_t lane = 0; lane < 32; ++lane) {
        EXPECT_EQ(result[lane], lane % 2 != 0 ? 0 : lane + 2 < 32 ? lane + 2 : lane) << lane;
    }
}

TEST(Warp, LaneOutsideTheMemberMaskIsReported) {
    Device device;
    const auto out = device.upload(std::vector<std::uint32_t>(32));
    const auto result = device.run(lane_kernel("shfl.sync.down.b32 %r1, %r0, 2, 31, 0x0000ffff;"), {1, 1, 1},
                                   {32, 1, 1}, Parameters().add(out));
    ASSERT_TRUE(result.fault);
    EXPECT_EQ(result.fault->kind, FaultKind::illegal_instruction);
    EXPECT_EQ(result.fault->thread.x, 16U);
}

TEST(Warp, Votes) {
    const auto ballot = run_lanes("setp.gt.u32 %p1, %r0, 28; vote.sync.ballot.b32 %r1, %p1, -1;");
    const auto ballot_not = run_lanes("setp.gt.u32 %p1, %r0, 28; vote.sync.ballot.b32 %r1, !%p1, -1;");
    const auto any = run_lanes("setp.eq.u32 %p1, %r0, 7; vote.sync.any.pred %p2, %p1, -1; selp.u32 %r1, 1, 0, %p2;");
    const auto all = run_lanes("setp.ne.u32 %p1, %r0, 7; vote.sync.all.pred %p2, %p1, -1; selp.u32 %r1, 1, 0, %p2;");
    const auto uniform =
        run_lanes("setp.ne.u32 %p1, %r0, 77; vote.sync.uni.pred %p2, %p1, -1; selp.u32 %r1, 1, 0, %p2;");
    const auto part = run_lanes("setp.gt.u32 %p1, %r0, 2; vote.sync.ballot.b32 %r1, %p1, -1;", 10);
    EXPECT_EQ(ballot[3], 0xe0000000U);
    EXPECT_EQ(ballot_not[3], 0x1fffffffU);
    EXPECT_EQ(any[0], 1U);
    EXPECT_EQ(all[0], 0U);
    EXPECT_EQ(uniform[0], 1U);
    EXPECT_EQ(part[0], 0x3f8U);
}

TEST(Warp, MatchReduceElectActive) {
    const auto any = run_lanes("and.b32 %r2, %r0, 3; match.any.sync.b32 %r1, %r2, -1;");
    const auto all = run_lanes("mov.u32 %r2, 5; match.all.sync.b32 %r1|%p1, %r2, -1; @!%p1 mov.u32 %r1, 9;");
    const auto not_all = run_lanes("match.all.sync.b32 %r1|%p1, %r0, -1; @!%p1 mov.u32 %r1, 9;");
    const auto any64 = run_lanes("and.b32 %r2, %r0, 1; mov.b64 %rd5, {%r2, %r2}; match.any.sync.b64 %r1, %rd5, -1;");
    const auto sum = run_lanes("redux.sync.add.u32 %r1, %r0, -1;");
    const auto least = run_lanes("sub.s32 %r2, %r0, 20; redux.sync.min.s32 %r1, %r2, -1;");
    const auto most = run_lanes("sub.s32 %r2, %r0, 20; redux.sync.max.u32 %r1, %r2, -1;");
    const auto either = run_lanes("redux.sync.or.b32 %r1, %r0, -1;");
    const auto both = run_lanes("or.b32 %r2, %r0, 32; redux.sync.and.b32 %r1, %r2, -1;");
    const auto parity = run_lanes("redux.sync.xor.b32 %r1, 3, -1;", 5);
    const auto leader = run_lanes("elect.sync %r1|%p1, -1; @%p1 add.u32 %r1, %r1, 50;");
    const auto active = run_lanes("setp.lt.u32 %p1, %r0, 4; @!%p1 bra $s; activemask.b32 %r1;\n$s:");
    for (std::uint32_t lane = 0; lane < 32; ++lane) {
        EXPECT_EQ(any[lane], 0x11111111U << (lane & 3));
        EXPECT_EQ(any64[lane], 0x55555555U << (lane & 1));
        EXPECT_EQ(all[lane], 0xffffffffU);
        EXPECT_EQ(not_all[lane], 9U);
        EXPECT_EQ(sum[lane], 496U);
        EXPECT_EQ(least[lane], static_cast<std::uint32_t>(-20));
        EXPECT_EQ(most[lane], static_cast<std::uint32_t>(-1));
        EXPECT_EQ(either[lane], 31U);
        EXPECT_EQ(both[lane], 32U);
        EXPECT_EQ(leader[lane], lane == 0 ? 50U : 0U);
        EXPECT_EQ(active[lane], lane < 4 ? 15U : 0U);
    }
    EXPECT_EQ(parity[0], 3U);
}

TEST(Warp, WarpBarrierMeetsLanesOfBothBranches) {
    const auto result = run_lanes(R"(
  setp.lt.u32 %p1, %r0, 8;
  @%p1 bra $low;
  bar.warp.sync -1;
  mov.u32 %r1, 2;
  bra.uni $meet;
$low:
  mov.u32 %r1, 1;
  bar.warp.sync -1;
$meet:)");
    EXPECT_EQ(result[0], 1U);
    EXPECT_EQ(result[31], 2U);
}

TEST(Warp, SpecialRegisters) {
    Device device;
    device.environment.sm_count = 3;
    device.environment.grid_id = 0x1'0000'0007;
    const auto out = device.upload(std::vector<std::uint64_t>(16));
    const auto result = device.run(R"(
.visible .entry k(.param .u64 out)
{
  .extern .shared .align 16 .b8 dynamic[];
  .reg .pred %p<3>; .reg .b32 %r<20>; .reg .b64 %rd<9>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %tid.z; mov.u32 %r4, %ctaid.y; mov.u32 %r5, %ctaid.z;
  // thread (1, 2, 3) of block (0, 1, 1)
  mad.lo.u32 %r6, %r2, 16, %r1; mad.lo.u32 %r6, %r3, 256, %r6; mad.lo.u32 %r6, %r4, 4096, %r6; mad.lo.u32 %r6, %r5, 65536, %r6;
  setp.ne.u32 %p1, %r6, 0x11321;
  @%p1 ret;
  mov.u32 %r7, %ntid.x;     cvt.u64.u32 %rd2, %r7; st.global.u64 [%rd1], %rd2;
  mov.u32 %r7, %ntid.z;     cvt.u64.u32 %rd2, %r7; st.global.u64 [%rd1+8], %rd2;
  mov.u32 %r7, %nctaid.y;   cvt.u64.u32 %rd2, %r7; st.global.u64 [%rd1+16], %rd2;
  mov.u32 %r7, %laneid;     cvt.u64.u32 %rd2, %r7; st.global.u64 [%rd1+24], %rd2;
  mov.u32 %r7, %warpid;     cvt.u64.u32 %rd2, %r7; st.global.u64 [%rd1+32], %rd2;
  mov.u32 %r7, %nwarpid;    cvt.u64.u32 %rd2, %r7; st.global.u64 [%rd1+40], %rd2;
  mov.u32 %r7, %smid;       cvt.u64.u32 %rd2, %r7; st.global.u64 [%rd1+48], %rd2;
  mov.u32 %r7, %nsmid;      cvt.u64.u32 %rd2, %r7; st.global.u64 [%rd1+56], %rd2;
  mov.u64 %rd2, %gridid;    st.global.u64 [%rd1+64], %rd2;
  mov.u32 %r7, %lanemask_lt; cvt.u64.u32 %rd2, %r7; st.global.u64 [%rd1+72], %rd2;
  mov.u32 %r7, %lanemask_ge; cvt.u64.u32 %rd2, %r7; st.global.u64 [%rd1+80], %rd2;
  mov.u32 %r7, %dynamic_smem_size; cvt.u64.u32 %rd2, %r7; st.global.u64 [%rd1+88], %rd2;
  mov.u32 %r7, %lanemask_eq; cvt.u64.u32 %rd2, %r7; st.global.u64 [%rd1+96], %rd2;
  mov.u32 %r7, WARP_SZ; cvt.u64.u32 %rd2, %r7; st.global.u64 [%rd1+104], %rd2;
  mov.u32 %r7, %total_smem_size; cvt.u64.u32 %rd2, %r7; st.global.u64 [%rd1+112], %rd2;
  mov.u32 %r7, %lanemask_le; mov.u32 %r8, %lanemask_gt; xor.b32 %r7, %r7, %r8; cvt.u64.u32 %rd2, %r7; st.global.u64 [%rd1+120], %rd2;
  ret;
})",
                                   {1, 2, 2}, {4, 4, 5}, Parameters().add(out), 48);
    ASSERT_TRUE(result) << why(result);
    const auto got = device.download<std::uint64_t>(out, 16);
    const std::uint32_t linear = 1 + 2 * 4 + 3 * 16;  // 57: warp 1, lane 25
    const std::vector<std::uint64_t> expected = {
        4,  5,        2,  linear % 32, linear / 32, 3, 3 % 3, 3, 0x1'0000'0007, (1U << 25) - 1, ~((1U << 25) - 1),
        48, 1U << 25, 32, 48,          0xffffffff};
    EXPECT_EQ(got, expected);
}

TEST(Warp, ClocksAdvance) {
    const auto clock = run_lanes(
        "mov.u32 %r2, %clock; add.u32 %r3, %r2, 1; add.u32 %r3, %r3, 1; mov.u32 %r4, %clock; sub.u32 %r1, %r4, %r2;");
    EXPECT_GT(clock[0], 0U);
    EXPECT_LT(clock[0], 100U);
    EXPECT_EQ(clock[0], clock[31]);
    const auto wide =
        run_lanes("mov.u64 %rd5, %clock64; mov.u64 %rd6, %clock64; sub.u64 %rd7, %rd6, %rd5; cvt.u32.u64 %r1, %rd7;");
    EXPECT_GT(wide[0], 0U);
    timespec before{}, after{};
    clock_gettime(CLOCK_MONOTONIC, &before);
    Device device;
    const auto out = device.upload(std::vector<std::uint64_t>(1));
    ASSERT_TRUE(device.run(R"(
.visible .entry k(.param .u64 out)
{
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [out]; mov.u64 %rd2, %globaltimer; st.global.u64 [%rd1], %rd2; ret;
})",
                           {1, 1, 1}, {1, 1, 1}, Parameters().add(out)));
    clock_gettime(CLOCK_MONOTONIC, &after);
    const auto nanoseconds = [](const timespec& t) {
        return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(t.tv_nsec);
    };
    const auto timer = device.download<std::uint64_t>(out, 1)[0];
    EXPECT_GE(timer, nanoseconds(before));
    EXPECT_LE(timer, nanoseconds(after));
}

TEST(Block, ReductionThroughSharedMemory) {
    Device device;
    const std::uint32_t blocks = 5, threads = 256;
    std::vector<std::uint32_t> values(blocks * threads);
    std::iota(values.begin(), values.end(), 1U);
    const auto in = device.upload(values), out = device.upload(std::vector<std::uint32_t>(blocks));
    const auto result = device.run(R"(
.visible .entry k(.param .u64 in, .param .u64 out)
{
  .shared .align 4 .b8 tile[1024];
  .reg .pred %p<4>; .reg .b32 %r<12>; .reg .b64 %rd<9>;
  ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out];
  mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;
  mad.lo.u32 %r4, %r2, %r3, %r1;
  mad.wide.u32 %rd3, %r4, 4, %rd1;
  ld.global.u32 %r5, [%rd3];
  shl.b32 %r6, %r1, 2; mov.u32 %r7, tile; add.u32 %r8, %r7, %r6;
  st.shared.u32 [%r8], %r5;
  shr.u32 %r9, %r3, 1;
$loop:
  bar.sync 0;
  setp.ge.u32 %p1, %r1, %r9;
  @%p1 bra $skip;
  shl.b32 %r10, %r9, 2; add.u32 %r10, %r8, %r10;
  ld.shared.u32 %r11, [%r10]; ld.shared.u32 %r5, [%r8]; add.u32 %r5, %r5, %r11; st.shared.u32 [%r8], %r5;
$skip:
  shr.u32 %r9, %r9, 1;
  setp.ne.u32 %p2, %r9, 0;
  @%p2 bra $loop;
  setp.ne.u32 %p3, %r1, 0;
  @%p3 bra $end;
  ld.shared.u32 %r5, [tile];
  mad.wide.u32 %rd4, %r2, 4, %rd2;
  st.global.u32 [%rd4], %r5;
$end:
  ret;
})",
                                   {blocks, 1, 1}, {threads, 1, 1}, Parameters().add(in).add(out));
    ASSERT_TRUE(result) << why(result);
    const auto sums = device.download<std::uint32_t>(out, blocks);
    for (std::uint32_t block = 0; block < blocks; ++block) {
        const auto first = values.begin() + block * threads;
        EXPECT_EQ(sums[block], std::accumulate(first, first + threads, 0U)) << block;
    }
}

TEST(Block, BarrierAfterEarlyReturnCompletes) {
    const auto result = run_lanes(R"(
  setp.gt.u32 %p1, %r0, 20;
  @%p1 exit;
  bar.sync 0;
  mov.u32 %r1, 1;)",
                                  64);
    EXPECT_EQ(result[0], 1U);
    EXPECT_EQ(result[21], 0U);
    EXPECT_EQ(result[32], 1U);
}

TEST(Block, BarrierReductionsAndCounts) {
    const auto popc = run_lanes("setp.lt.u32 %p1, %r0, 3; bar.red.popc.u32 %r1, 0, %p1;", 96);
    const auto all = run_lanes("setp.lt.u32 %p1, %r0, 40; bar.red.and.pred %p2, 0, %p1; selp.u32 %r1, 7, 0, %p2;", 96);
    const auto any = run_lanes(
        "mov.u32 %r2, %tid.x; setp.eq.u32 %p1, %r2, 95; bar.red.or.pred %p2, 0, %p1; selp.u32 %r1, 7, 0, %p2;", 96);
    EXPECT_EQ(popc[0], 9U);
    EXPECT_EQ(popc[95], 9U);
    EXPECT_EQ(all[50], 7U);
    EXPECT_EQ(any[1], 7U);
    // A producer warp arrives, two consumer warps wait for 96 threads.
    const auto producer = run_lanes(R"(
  .shared .align 4 .b8 cell[4];
  mov.u32 %r2, %warpid;
  setp.ne.u32 %p1, %r2, 2;
  @%p1 bra $consume;
  st.shared.u32 [cell], 11;
  barrier.arrive 1, 96;
  bra.uni $done;
$consume:
  barrier.sync 1, 96;
  ld.shared.u32 %r1, [cell];
$done:)",
                                    96);
    EXPECT_EQ(producer[0], 11U);
    EXPECT_EQ(producer[63], 11U);
    EXPECT_EQ(producer[64], 0U);
}

TEST(Atomics, ManyBlocksOnTwoWorkers) {
    Device device;
    device.environment.workers = 2;
    const auto counters = device.upload(std::vector<std::uint64_t>(4));
    const auto result = device.run(R"(
.visible .entry k(.param .u64 out)
{
  .reg .b32 %r<6>; .reg .b64 %rd<6>; .reg .f32 %f<3>;
  ld.param.u64 %rd1, [out];
  atom.global.add.u32 %r1, [%rd1], 1;
  mov.u32 %r2, %ctaid.x; mov.u32 %r3, %tid.x; mad.lo.u32 %r4, %r2, 64, %r3;
  atom.global.max.u32 %r5, [%rd1+4], %r4;
  red.global.add.u64 [%rd1+8], 3;
  red.global.add.f32 [%rd1+16], 0f3F800000;
  red.global.inc.u32 [%rd1+20], 99;
  cvt.u64.u32 %rd2, %r4;
  red.global.xor.b64 [%rd1+24], %rd2;
  ret;
})",
                                   {100, 1, 1}, {64, 1, 1}, Parameters().add(counters));
    ASSERT_TRUE(result) << why(result);
    const auto got = device.download<std::uint64_t>(counters, 4);
    EXPECT_EQ(got[0] & 0xffffffff, 6400U);
    EXPECT_EQ(got[0] >> 32, 6399U);
    EXPECT_EQ(got[1], 3 * 6400U);
    EXPECT_EQ(static_cast<std::uint32_t>(got[2]), 0x45c80000U);  // 6400.0f
    EXPECT_EQ(got[2] >> 32, 6400U % 100);
    std::uint64_t parity = 0;
    for (std::uint64_t i = 0; i < 6400; ++i) {
        parity ^= i;
    }
    EXPECT_EQ(got[3], parity);
}

TEST(Launch, SmOfBlockIsFixedAndGridBarrierCompletes) {
    Device device;
    device.environment.workers = 1;
    device.environment.sm_count = 4;
    const std::uint32_t blocks = 12;
    const auto out = device.upload(std::vector<std::uint32_t>(blocks + 1));
    // Every block waits until all have come: with one worker they must take turns.
    const auto result = device.run(R"(
.visible .entry k(.param .u64 out)
{
  .reg .pred %p<2>; .reg .b32 %r<6>; .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %nctaid.x;
  atom.global.add.u32 %r2, [%rd1], 1;
$wait:
  ld.volatile.global.u32 %r3, [%rd1];
  setp.lt.u32 %p1, %r3, %r1;
  @%p1 bra $wait;
  mov.u32 %r4, %smid; mov.u32 %r5, %ctaid.x;
  mad.wide.u32 %rd2, %r5, 4, %rd1;
  st.global.u32 [%rd2+4], %r4;
  ret;
})",
                                   {blocks, 1, 1}, {1, 1, 1}, Parameters().add(out));
    ASSERT_TRUE(result) << why(result);
    const auto got = device.download<std::uint32_t>(out, blocks + 1);
    for (std::uint32_t block = 0; block < blocks; ++block) {
        EXPECT_EQ(got[block + 1], block % 4);
    }
}

}  // namespace
}  // namespace egpu::simulated::test
