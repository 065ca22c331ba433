// SPDX-License-Identifier: Apache-2.0
// mbarrier objects between warps and lanes, asynchronous copies with them, and the deadlocks that come of it. What each
// instruction gives on its own is in asynchronous.fixtures.
#include <fmt/format.h>

#include "device.hpp"

namespace egpu::simulated::test {
namespace {

/// A kernel with an mbarrier of `count` arrivals at %bar, ready for all threads; what it puts into %r1 goes to out.
std::string barrier_kernel(const std::string& count, const std::string& body) {
    return R"(
.visible .entry k(.param .u64 out)
{
  .shared .align 8 .b64 object; .shared .align 16 .b8 tile[4096];
  .reg .pred %p<9>; .reg .b32 %r<20>, %thread, %bar, %tile; .reg .b64 %rd<20>, %out;
  mov.u32 %thread, %tid.x; mov.u32 %bar, object; mov.u32 %tile, tile; mov.u32 %r1, 0;
  ld.param.u64 %out, [out]; mad.wide.u32 %out, %thread, 4, %out;
  setp.eq.u32 %p1, %thread, 0;
  @%p1 mbarrier.init.shared.b64 [%bar], )" +
           count + ";\n  bar.sync 0;\n" + body + "\n  st.global.u32 [%out], %r1;\n  ret;\n}";
}

LaunchResult run(Device& device, const std::string& kernel, std::uint32_t threads,
                 std::vector<std::uint32_t>* got = nullptr) {
    const auto out = device.upload(std::vector<std::uint32_t>(threads));
    const auto result = device.run(kernel, {1, 1, 1}, {threads, 1, 1}, Parameters().add(out));
    if (got != nullptr) {
        EXPECT_TRUE(result) << why(result);
        *got = device.download<std::uint32_t>(out, threads);
    }
    return result;
}

void expect_fault(const LaunchResult& result, FaultKind kind, std::initializer_list<const char*> words) {
    ASSERT_TRUE(result.fault);
    EXPECT_EQ(to_string(result.fault->kind), to_string(kind)) << result.fault->text;
    for (const char* const word : words) {
        EXPECT_NE(result.fault->text.find(word), std::string::npos) << "'" << word << "' in: " << result.fault->text;
    }
}

constexpr const char* kTryLoop = R"(
$wait:
  mbarrier.try_wait.parity.shared.b64 %p2, [%bar], 0;
  @!%p2 bra $wait;
)";
constexpr const char* kTestLoop = R"(
$wait:
  mbarrier.test_wait.parity.shared.b64 %p2, [%bar], 0;
  @!%p2 bra $wait;
)";

TEST(Mbarrier, AllThreadsArriveAndWait) {
    for (const char* const loop : {kTryLoop, kTestLoop}) {
        Device device;
        std::vector<std::uint32_t> got;
        // Each warp writes its word and reads that of the next one behind the barrier.
        run(device,
            barrier_kernel("128", fmt::format(R"(
  shl.b32 %r2, %thread, 2; add.u32 %r2, %r2, %tile; st.shared.u32 [%r2], %thread;
  mbarrier.arrive.shared.b64 %rd1, [%bar];
{}
  xor.b32 %r3, %thread, 127; shl.b32 %r3, %r3, 2; add.u32 %r3, %r3, %tile; ld.shared.u32 %r1, [%r3];)",
                                              loop)),
            128, &got);
        for (std::uint32_t i = 0; i < 128; ++i) {
            EXPECT_EQ(got[i], 127 - i);
        }
    }
}

/// One lane waits for what its own warp does behind the branch: the others must be let go.
TEST(Mbarrier, LanesWaitForLanesOfTheirWarp) {
    Device device;
    std::vector<std::uint32_t> got;
    run(device, barrier_kernel("31", R"(
  @!%p1 bra $others;
$wait:
  mbarrier.try_wait.parity.shared.b64 %p2, [%bar], 0;
  @!%p2 bra $wait;
  mov.u32 %r1, 7;
  bra.uni $end;
$others:
  bar.warp.sync 0xfffffffe;
  mbarrier.arrive.shared.b64 %rd1, [%bar];
$end:)"),
        32, &got);
    EXPECT_EQ(got[0], 7U);
}

/// A ring of two stages: one warp fills it by bulk copies, the others take from it.
TEST(Mbarrier, ProducerAndConsumers) {
    Device device;
    std::vector<std::uint32_t> data(64 * 16);
    for (std::uint32_t i = 0; i < data.size(); ++i) {
        data[i] = i * 3 + 1;
    }
    const auto in = device.upload(data);
    const auto out = device.upload(std::vector<std::uint32_t>(64));
    const auto result = device.run(R"(
.visible .entry k(.param .u64 in, .param .u64 out)
{
  .shared .align 8 .b64 full[2]; .shared .align 8 .b64 empty[2]; .shared .align 16 .b8 tile[512];
  .reg .pred %p<9>; .reg .b32 %r<20>, %stage, %parity, %i, %full, %empty, %at; .reg .b64 %rd<9>, %in, %out;
  ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; mov.u32 %r1, %tid.x;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra $ready;
  mov.u32 %full, full; mov.u32 %empty, empty;
  mbarrier.init.shared.b64 [%full], 1; mbarrier.init.shared.b64 [%full+8], 1;
  mbarrier.init.shared.b64 [%empty], 64; mbarrier.init.shared.b64 [%empty+8], 64;
  fence.mbarrier_init.release.cluster; fence.proxy.async;
$ready:
  bar.sync 0;
  mov.u32 %i, 0; mov.u32 %r9, 0;
$loop:
  and.b32 %stage, %i, 1; shr.u32 %parity, %i, 1; and.b32 %parity, %parity, 1;
  shl.b32 %r2, %stage, 3; mov.u32 %full, full; add.u32 %full, %full, %r2; mov.u32 %empty, empty; add.u32 %empty, %empty, %r2;
  shl.b32 %r3, %stage, 8; mov.u32 %at, tile; add.u32 %at, %at, %r3;
  setp.ge.u32 %p2, %r1, 64;
  @%p2 bra $producer;
$consume:
  mbarrier.try_wait.parity.shared.b64 %p3, [%full], %parity;
  @!%p3 bra $consume;
  shl.b32 %r4, %r1, 2; add.u32 %r4, %r4, %at; ld.shared.u32 %r5, [%r4]; add.u32 %r9, %r9, %r5;
  mbarrier.arrive.shared.b64 _, [%empty];
  bra.uni $next;
$producer:
  setp.ne.u32 %p4, %r1, 64;
  @%p4 bra $next;
  xor.b32 %r6, %parity, 1;
$room:
  mbarrier.try_wait.parity.shared.b64 %p3, [%empty], %r6;
  @!%p3 bra $room;
  mbarrier.arrive.expect_tx.shared.b64 _, [%full], 256;
  mad.wide.u32 %rd1, %i, 256, %in;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%at], [%rd1], 256, [%full];
$next:
  add.u32 %i, %i, 1; setp.lt.u32 %p5, %i, 16;
  @%p5 bra $loop;
  setp.ge.u32 %p2, %r1, 64;
  @%p2 ret;
  mad.wide.u32 %out, %r1, 4, %out; st.global.u32 [%out], %r9;
  ret;
})",
                                   {1, 1, 1}, {96, 1, 1}, Parameters().add(in).add(out));
    ASSERT_TRUE(result) << why(result);
    const auto got = device.download<std::uint32_t>(out, 64);
    for (std::uint32_t i = 0; i < 64; ++i) {
        std::uint32_t sum = 0;
        for (std::uint32_t round = 0; round < 16; ++round) {
            sum += data[round * 64 + i];
        }
        EXPECT_EQ(got[i], sum) << i;
    }
}

TEST(Mbarrier, AWaitThatCantEndIsADeadlock) {
    for (const char* const loop : {kTryLoop, kTestLoop}) {
        Device device;
        expect_fault(
            run(device, barrier_kernel("65", std::string("mbarrier.arrive.shared.b64 %rd1, [%bar];") + loop), 64),
            FaultKind::deadlock,
            {"deadlock", "kernel 'k'", "block (0, 0, 0)", "warp 0", "warp 1", "mbarrier at shared address 0x0",
             "phase 0: 1 of 65 arrivals missing"});
    }
}

TEST(Mbarrier, BytesThatNeverComeAreADeadlock) {
    Device device;
    expect_fault(
        run(device,
            barrier_kernel("1", std::string("@%p1 mbarrier.arrive.expect_tx.shared.b64 %rd1, [%bar], 64;") + kTryLoop),
            64),
        FaultKind::deadlock, {"0 of 1 arrivals and 64 bytes missing"});
}

/// As cuda::barrier waits: with a look at the clock in each turn.
TEST(Mbarrier, ADeadlockThatReadsTheClock) {
    Device device;
    expect_fault(run(device, barrier_kernel("65", R"(
  mbarrier.arrive.shared.b64 %rd1, [%bar];
$wait:
  mov.u64 %rd2, %globaltimer; nanosleep.u32 20;
  mbarrier.try_wait.parity.shared.b64 %p2, [%bar], 0;
  @!%p2 bra $wait;)"),
                     64),
                 FaultKind::deadlock, {"1 of 65 arrivals missing"});
}

TEST(Mbarrier, WaitBesideABarrierIsADeadlock) {
    Device device;
    expect_fault(run(device,
                     barrier_kernel("1", std::string("setp.ge.u32 %p3, %thread, 32; @%p3 bra $barrier;") + kTryLoop +
                                             "bra.uni $end;\n$barrier:\n  bar.sync 1;\n$end:"),
                     64),
                 FaultKind::deadlock, {"(mbarrier at", "(barrier)"});
}

/// try_wait may give up: a kernel that goes on then is no deadlock.
TEST(Mbarrier, WaitsGiveUp) {
    Device device;
    std::vector<std::uint32_t> got;
    run(device, barrier_kernel("65", "mbarrier.try_wait.parity.shared.b64 %p2, [%bar], 0; selp.u32 %r1, 1, 2, %p2;"),
        64, &got);
    EXPECT_EQ(got[63], 2U);
}

TEST(Mbarrier, MisuseIsReported) {
    const struct {
        const char* count;
        const char* body;
        FaultKind kind;
        const char* text;
    } cases[] = {
        {"0", "", FaultKind::illegal_instruction, "an mbarrier of 0 arrivals"},
        {"1", "mbarrier.arrive.shared.b64 %rd1, [%tile];", FaultKind::illegal_instruction, "hold no mbarrier"},
        {"1", "mbarrier.inval.shared.b64 [%bar]; mbarrier.test_wait.parity.shared.b64 %p2, [%bar], 0;",
         FaultKind::illegal_instruction, "hold no mbarrier"},
        {"4", "mbarrier.arrive.shared.b64 %rd1, [%bar], 5;", FaultKind::illegal_instruction, "5 arrivals"},
        {"1", "mbarrier.arrive.noComplete.release.cta.shared::cta.b64 %rd1, [%bar], 1;", FaultKind::illegal_instruction,
         "noComplete"},
        {"1", "mbarrier.arrive.shared.b64 %rd1, [%bar+4];", FaultKind::misaligned_address, "not a multiple of 8"},
        {"1", "mbarrier.arrive.b64 %rd1, [%out];", FaultKind::illegal_instruction, "not shared memory"},
        {"1", "mov.u64 %rd1, 5; mbarrier.test_wait.shared.b64 %p2, [%bar], %rd1;", FaultKind::illegal_instruction,
         "0x5 is no state"},
        {"1", "cp.async.bulk.global.shared::cta.bulk_group [%out], [%tile], 20;", FaultKind::illegal_instruction,
         "20 bytes"},
        {"1", "add.u32 %tile, %tile, 8; cp.async.bulk.global.shared::cta.bulk_group [%out], [%tile], 16;",
         FaultKind::misaligned_address, "not a multiple of 16"},
        {"1", "cp.async.ca.shared.global [%tile+4088], [%out], 4; cp.async.ca.shared.global [%tile+4096], [%out], 4;",
         FaultKind::illegal_address, "beyond"},
    };
    for (const auto& one : cases) {
        Device device;
        SCOPED_TRACE(one.body);
        expect_fault(run(device, barrier_kernel(one.count, one.body), 1), one.kind, {one.text});
    }
}

}  // namespace
}  // namespace egpu::simulated::test
