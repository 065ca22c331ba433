// SPDX-License-Identifier: Apache-2.0
// Clusters of blocks: who is who in them, their barrier, shared memory of each other, remote mbarrier objects,
// multicast.
#include <fmt/format.h>

#include "device.hpp"

namespace egpu::simulated::test {
namespace {

void expect_fault(const LaunchResult& result, FaultKind kind, std::initializer_list<const char*> words) {
    ASSERT_TRUE(result.fault);
    EXPECT_EQ(to_string(result.fault->kind), to_string(kind)) << result.fault->text;
    for (const char* const word : words) {
        EXPECT_NE(result.fault->text.find(word), std::string::npos) << "'" << word << "' in: " << result.fault->text;
    }
}

/// A kernel that puts %r1 into out[block * threads + thread].
std::string cluster_kernel(const std::string& body, const std::string& directives = {}) {
    return ".visible .entry k(.param .u64 out)\n" + directives + R"(
{
  .shared .align 16 .b8 tile[1024]; .shared .align 8 .b64 object;
  .reg .pred %p<9>; .reg .b32 %r<20>, %thread, %rank, %size, %tile, %bar; .reg .b64 %rd<20>, %out;
  mov.u32 %thread, %tid.x; mov.u32 %rank, %cluster_ctarank; mov.u32 %size, %cluster_nctarank;
  mov.u32 %tile, tile; mov.u32 %bar, object; mov.u32 %r1, 0;
  ld.param.u64 %out, [out];
  mov.u32 %r2, %ctaid.y; mov.u32 %r3, %nctaid.x; mov.u32 %r4, %ctaid.x; mad.lo.u32 %r4, %r2, %r3, %r4;
  mov.u32 %r2, %ntid.x; mad.lo.u32 %r4, %r4, %r2, %thread; mad.wide.u32 %out, %r4, 4, %out;
)" + body + "\n  st.global.u32 [%out], %r1;\n  ret;\n}";
}

struct Ran {
    LaunchResult result;
    std::vector<std::uint32_t> out;
};
Ran run(const std::string& kernel, Dimensions grid, std::uint32_t threads, Dimensions cluster, unsigned workers = 1) {
    Device device;
    device.environment.cluster = cluster;
    device.environment.workers = workers;
    const auto count = static_cast<std::size_t>(grid.count()) * threads;
    const auto out = device.upload(std::vector<std::uint32_t>(count));
    Ran ran;
    ran.result = device.run(kernel, grid, {threads, 1, 1}, Parameters().add(out));
    ran.out = device.download<std::uint32_t>(out, count);
    return ran;
}

TEST(Cluster, Registers) {
    const Ran ran = run(cluster_kernel(R"(
  mov.u32 %r5, %clusterid.x; mov.u32 %r6, %clusterid.y; mov.u32 %r7, %cluster_ctaid.x; mov.u32 %r8, %cluster_ctaid.y;
  mov.u32 %r9, %nclusterid.x; mov.u32 %r10, %cluster_nctaid.y; mov.pred %p1, %is_explicit_cluster; selp.u32 %r11, 1, 0, %p1;
  mad.lo.u32 %r1, %r5, 10, %r6; mad.lo.u32 %r1, %r1, 10, %r7; mad.lo.u32 %r1, %r1, 10, %r8; mad.lo.u32 %r1, %r1, 10, %r9;
  mad.lo.u32 %r1, %r1, 10, %r10; mad.lo.u32 %r1, %r1, 10, %r11; mad.lo.u32 %r1, %r1, 10, %rank; mad.lo.u32 %r1, %r1, 10, %size;)"),
                        {4, 2, 1}, 1, {2, 2, 1});
    ASSERT_TRUE(ran.result) << why(ran.result);
    const auto wanted = [](unsigned id, unsigned x, unsigned y, unsigned rank) {
        return ((((((((id * 10 + 0) * 10 + x) * 10 + y) * 10 + 2) * 10 + 2) * 10 + 1) * 10 + rank) * 10 + 4);
    };
    EXPECT_EQ(ran.out[0], wanted(0, 0, 0, 0));
    EXPECT_EQ(ran.out[1], wanted(0, 1, 0, 1));
    EXPECT_EQ(ran.out[2], wanted(1, 0, 0, 0));
    EXPECT_EQ(ran.out[4], wanted(0, 0, 1, 2));
    EXPECT_EQ(ran.out[7], wanted(1, 1, 1, 3));
}

TEST(Cluster, WithoutOneABlockIsItsOwn) {
    const Ran ran = run(cluster_kernel(R"(
  mov.pred %p1, %is_explicit_cluster; selp.u32 %r1, 100, 0, %p1; add.u32 %r1, %r1, %size;
  mov.u32 %r5, %clusterid.x; mad.lo.u32 %r1, %r5, 10, %r1; barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;)"),
                        {3, 1, 1}, 32, {0, 0, 0});
    ASSERT_TRUE(ran.result) << why(ran.result);
    EXPECT_EQ(ran.out[0], 1U);
    EXPECT_EQ(ran.out[95], 21U);
}

/// Each block reads the shared memory of the next one in a ring.
constexpr const char* kRing = R"(
  mad.lo.u32 %r5, %rank, 1000, %thread; shl.b32 %r6, %thread, 2; add.u32 %r6, %r6, %tile; st.shared.u32 [%r6], %r5;
  barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;
  add.u32 %r7, %rank, 1; rem.u32 %r7, %r7, %size;
  mapa.shared::cluster.u32 %r8, %r6, %r7; ld.shared::cluster.u32 %r1, [%r8];
  getctarank.shared::cluster.u32 %r9, %r8; mad.lo.u32 %r1, %r9, 100000, %r1;
  cvt.u64.u32 %rd1, %r6; cvta.shared.u64 %rd1, %rd1; mapa.u64 %rd2, %rd1, %r7; atom.add.u32 %r10, [%rd2], 0;
  isspacep.shared::cta %p1, %rd2; isspacep.shared::cluster %p2, %rd2; isspacep.shared %p3, %rd1;
  @%p1 add.u32 %r1, %r1, 10000000; @!%p2 add.u32 %r1, %r1, 10000000; @!%p3 add.u32 %r1, %r1, 10000000;
  rem.u32 %r11, %r1, 100000; setp.ne.u32 %p4, %r10, %r11; @%p4 add.u32 %r1, %r1, 20000000;
  barrier.cluster.arrive; barrier.cluster.wait;)";

TEST(Cluster, SharedMemoryOfOthers) {
    for (const unsigned workers : {1U, 2U}) {
        const Ran ran = run(cluster_kernel(kRing), {8, 1, 1}, 64, {4, 1, 1}, workers);
        ASSERT_TRUE(ran.result) << why(ran.result);
        for (std::uint32_t i = 0; i < 512; ++i) {
            const std::uint32_t next = (i / 64 % 4 + 1) % 4;
            EXPECT_EQ(ran.out[i], next * 100000 + next * 1000 + i % 64) << i;
        }
    }
}

TEST(Cluster, SizeFromTheKernel) {
    const Ran ran =
        run(cluster_kernel(kRing, ".reqnctapercluster 2, 1, 1\n.explicitcluster"), {4, 1, 1}, 32, {0, 0, 0});
    ASSERT_TRUE(ran.result) << why(ran.result);
    EXPECT_EQ(ran.out[0], 101000U);
    EXPECT_EQ(ran.out[32], 0U);
}

/// Blocks arrive at the mbarrier of rank 0, which alone waits.
TEST(Cluster, RemoteArrivals) {
    const Ran ran = run(cluster_kernel(R"(
  setp.eq.u32 %p1, %thread, 0; setp.eq.u32 %p2, %rank, 0;
  @%p1 mbarrier.init.shared.b64 [%bar], 96;
  @%p1 fence.mbarrier_init.release.cluster;
  barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;
  mapa.shared::cluster.u32 %r5, %bar, 0;
  @!%p2 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r5];
  @!%p2 bra $end;
$wait:
  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p3, [%bar], 0;
  @!%p3 bra $wait;
  mov.u32 %r1, 5;
$end:
  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;)"),
                        {4, 1, 1}, 32, {4, 1, 1});
    ASSERT_TRUE(ran.result) << why(ran.result);
    EXPECT_EQ(ran.out[31], 5U);
    EXPECT_EQ(ran.out[32], 0U);
}

/// One bulk copy reaches the blocks of its mask, each at its own mbarrier.
TEST(Cluster, Multicast) {
    const Ran ran = run(cluster_kernel(R"(
  setp.eq.u32 %p1, %thread, 0; setp.eq.u32 %p2, %rank, 1;
  @%p1 mbarrier.init.shared.b64 [%bar], 1;
  @%p1 mbarrier.arrive.expect_tx.shared.b64 %rd1, [%bar], 16;
  st.global.u32 [%out], %rank;
  barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;
  and.pred %p3, %p1, %p2;
  @%p3 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%tile], [%out], 16, [%bar], 3;
$wait:
  mbarrier.try_wait.parity.shared.b64 %p4, [%bar], 0;
  @!%p4 bra $wait;
  ld.shared.u32 %r1, [%tile+12]; add.u32 %r1, %r1, 10;)"),
                        {2, 1, 1}, 32, {2, 1, 1});
    ASSERT_TRUE(ran.result) << why(ran.result);
    EXPECT_EQ(ran.out[0], 11U);
    EXPECT_EQ(ran.out[63], 11U);
}

TEST(Cluster, AnEndedBlockHasNoSharedMemory) {
    const Ran ran = run(cluster_kernel(R"(
  setp.eq.u32 %p1, %rank, 0; @%p1 ret;
  mov.u32 %r7, 0;
$again:
  nanosleep.u32 100; add.u32 %r7, %r7, 1; setp.lt.u32 %p2, %r7, 1000; @%p2 bra $again;
  mapa.shared::cluster.u32 %r5, %tile, 0; ld.shared::cluster.u32 %r1, [%r5];)"),
                        {2, 1, 1}, 32, {2, 1, 1});
    expect_fault(ran.result, FaultKind::illegal_address, {"block rank 0", "have left"});
}

TEST(Cluster, AWaitForAnEndedBlockIsADeadlock) {
    const Ran ran = run(cluster_kernel(R"(
  setp.eq.u32 %p1, %thread, 0; setp.eq.u32 %p2, %rank, 0;
  @%p1 mbarrier.init.shared.b64 [%bar], 64;
  bar.sync 0;
  @%p2 ret;
  mbarrier.arrive.shared.b64 %rd1, [%bar];
$wait:
  mbarrier.try_wait.parity.shared.b64 %p3, [%bar], 0;
  @!%p3 bra $wait;)"),
                        {2, 1, 1}, 32, {2, 1, 1});
    expect_fault(ran.result, FaultKind::deadlock,
                 {"block (1, 0, 0)", "all warps of the cluster wait", "32 of 64 arrivals missing"});
}

TEST(Cluster, ABlockAtAnotherBarrierIsADeadlock) {
    const Ran ran = run(cluster_kernel(R"(
  setp.eq.u32 %p1, %rank, 0; setp.lt.u32 %p2, %thread, 32; and.pred %p1, %p1, %p2; @%p1 bra $other;
  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; bra.uni $end;
$other:
  bar.sync 1;
$end:)"),
                        {2, 1, 1}, 64, {2, 1, 1});
    expect_fault(ran.result, FaultKind::deadlock, {"(barrier of the cluster)", "(barrier)"});
}

TEST(Cluster, MisuseIsReported) {
    const struct {
        const char* body;
        FaultKind kind;
        const char* text;
    } cases[] = {
        {"barrier.cluster.wait;", FaultKind::illegal_instruction, "without barrier.cluster.arrive"},
        {"barrier.cluster.arrive; barrier.cluster.arrive;", FaultKind::illegal_instruction,
         "without barrier.cluster.wait"},
        {"setp.lt.u32 %p1, %thread, 4; @%p1 barrier.cluster.arrive.aligned;", FaultKind::divergent_barrier,
         "0x0000000f"},
        {"mapa.shared::cluster.u32 %r5, %tile, 2;", FaultKind::illegal_instruction, "rank 2 of a cluster of 2"},
        {"mapa.u64 %rd1, %out, 1;", FaultKind::illegal_instruction, "not in shared memory"},
        {"mapa.shared::cluster.u32 %r5, %tile, 1; ld.shared.u32 %r1, [%r5];", FaultKind::illegal_address,
         "shared address"},
        {"mapa.shared::cluster.u32 %r5, %tile, 1; ld.shared::cluster.u32 %r1, [%r5+2048];", FaultKind::illegal_address,
         "of block rank 1 of the cluster, beyond"},
    };
    for (const auto& one : cases) {
        SCOPED_TRACE(one.body);
        expect_fault(run(cluster_kernel(one.body), {2, 1, 1}, 32, {2, 1, 1}).result, one.kind, {one.text});
    }
}

TEST(Cluster, LaunchesThatCantBe) {
    const std::string kernel = cluster_kernel("", ".reqnctapercluster 2, 1, 1");
    expect_fault(run(kernel, {3, 1, 1}, 32, {0, 0, 0}).result, FaultKind::bad_launch, {"not made of clusters"});
    expect_fault(run(kernel, {4, 1, 1}, 32, {4, 1, 1}).result, FaultKind::bad_launch,
                 {"the kernel requires (2, 1, 1)"});
    expect_fault(run(cluster_kernel(""), {32, 1, 1}, 32, {32, 1, 1}).result, FaultKind::bad_launch,
                 {"16 are the limit"});
    expect_fault(run(cluster_kernel("", ".explicitcluster"), {4, 1, 1}, 32, {0, 0, 0}).result, FaultKind::bad_launch,
                 {".explicitcluster"});
}

TEST(Cluster, RegisterCountsAndFloatReductions) {
    const Ran ran = run(cluster_kernel(R"(
  setmaxnreg.dec.sync.aligned.u32 40; setmaxnreg.inc.sync.aligned.u32 232;
  .reg .f32 %f<9>;
  cvt.rn.f32.u32 %f1, %thread; sub.f32 %f1, %f1, 0f41A00000; setp.eq.u32 %p1, %thread, 3; @%p1 mov.f32 %f1, 0f7FC00000;
  redux.sync.min.f32 %f2, %f1, -1; redux.sync.max.abs.f32 %f3, %f1, -1; redux.sync.max.NaN.f32 %f4, %f1, -1;
  cvt.rni.s32.f32 %r5, %f2; cvt.rni.s32.f32 %r6, %f3; neg.s32 %r5, %r5; mad.lo.u32 %r1, %r5, 100, %r6;
  mov.b32 %r7, %f4; setp.ne.u32 %p2, %r7, 0x7fffffff; @%p2 add.u32 %r1, %r1, 10000;)"),
                        {1, 1, 1}, 32, {0, 0, 0});
    ASSERT_TRUE(ran.result) << why(ran.result);
    EXPECT_EQ(ran.out[5], 2020U);
}

}  // namespace
}  // namespace egpu::simulated::test
