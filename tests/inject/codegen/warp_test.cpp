// SPDX-License-Identifier: Apache-2.0
// Firings of whole warps on the simulated GPU: counts in closed form for lanes, leaders, sectors, sums per SM.
#include <gmock/gmock.h>

#include <set>

#include "simulated.hpp"

namespace egpu::inject::testing {
namespace {

/// Sectors that a warp's lanes touch with a base of 256-aligned addresses.
std::uint64_t sectors_of(const std::vector<std::uint64_t>& addresses) {
    std::set<std::uint64_t> sectors;
    for (const auto address : addresses)
        sectors.insert(address / 32);
    return sectors.size();
}

struct Access {
    std::uint32_t stride = 4;  ///< bytes between neighbouring threads
    std::uint32_t count = 64;  ///< threads whose guard is true
    std::uint32_t threads = 64;
    bool guarded = true;
};

/// Runs one program at `ld [%rd6]`, %rd6 = data + tid * stride.
std::string run(Harness& harness, const Object& object, SimulatedSession& session, const Access& access,
                std::uint32_t blocks = 1, std::uint32_t sm_count = 1, bool some_leave = false) {
    harness.site.address_base = "%rd6";
    harness.site.address_offset = 0;
    if (access.guarded)
        harness.site.guard = "%p1";
    const auto probe = harness.emit(object);
    if (!probe)
        return to_text(probe.error());
    EmittedProbe strided = *probe;
    strided.text =
        fmt::format("\tmul.wide.u32 %rd6, %r1, {};\n\tadd.s64 %rd6, %rd6, %rd2;\n", access.stride) + strided.text;
    return session.run(harness.module(strided, false, some_leave), harness.table, blocks, access.threads, access.count,
                       sm_count);
}

/// array[0] and following get fields of each firing: sums over all firings.
Object field_sums(const std::string& section, const std::vector<std::string>& fields) {
    std::string text = "mov %r9, %r1\nstw [%r10-4], 0\nmov %r2, %r10\nadd %r2, -4\nlddw %r1, " + map_address(0) +
                       "\ncall 1\njeq %r0, 0, out\n";
    int at = 0;
    for (const auto& name : fields) {
        const auto* field = field_named(ContextKind::mem, name);
        EXPECT_NE(field, nullptr) << name;
        text += fmt::format("ldx{} %r1, [%r9+{}]\nlock add [%r0+{}], %r1\n", field->bytes == 8 ? "dw" : "w",
                            field->offset, at);
        at += 8;
    }
    return assembled(text + "mov %r1, 1\nlock add [%r0+" + std::to_string(at) + "], %r1\nout:\nmov %r0, 0\nexit\n",
                     section);
}

class Targets : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(Targets, SectorsOfStridedAccesses) {
    const Object object = bundled("coalescing");
    for (const std::uint32_t stride : {0u, 4u, 8u, 16u, 32u, 64u})
        for (const std::uint32_t count : {64u, 40u, 32u, 7u, 1u, 0u}) {
            Harness harness(object, GetParam());
            SimulatedSession session(harness.layouts);
            ASSERT_EQ(run(harness, object, session, {stride, count, 64, true}), "");
            std::uint64_t requests = 0, sectors = 0;
            for (std::uint32_t warp = 0; warp < 2; ++warp) {
                std::vector<std::uint64_t> addresses;
                for (std::uint32_t thread = warp * 32; thread < warp * 32 + 32; ++thread)
                    if (thread < count)
                        addresses.push_back(std::uint64_t{thread} * stride);
                requests += addresses.empty() ? 0 : 1;
                sectors += sectors_of(addresses);
            }
            EXPECT_EQ(session.sum(0, 0, 0), requests) << stride << " " << count;
            EXPECT_EQ(session.sum(0, 0, 8), sectors) << stride << " " << count;
            EXPECT_EQ(session.sum(0, 0, 16), std::uint64_t{count} * 4) << stride << " " << count;
        }
}

TEST_P(Targets, AccumulatorsGiveTheSameSums) {
    const Object object = bundled("coalescing");
    Harness harness(object, GetParam());
    harness.keep({{0, 0, 0}, {0, 0, 8}, {0, 0, 16}});
    SimulatedSession session(harness.layouts);
    ASSERT_EQ(run(harness, object, session, {32, 40, 64, true}, 3), "");
    EXPECT_EQ(session.sum(0, 0, 0), 3u * 2);
    EXPECT_EQ(session.sum(0, 0, 8), 3u * 40);
    EXPECT_EQ(session.sum(0, 0, 16), 3u * 40 * 4);
}

/// Lanes with sums of their own, leaving in any company.
TEST_P(Targets, SumsOfLanesThatLeave) {
    const Object object = field_sums("gpu/mem", {"thread.x", "lane"});
    for (const bool some_leave : {false, true})
        for (const std::uint32_t threads : {1u, 2u, 3u, 5u, 31u, 32u, 33u, 64u, 100u})
            for (const std::uint32_t count : {100u, 17u, 1u}) {
                Harness harness(object, GetParam());
                harness.keep({{0, 0, 0}, {0, 0, 8}, {0, 0, 16}});
                SimulatedSession session(harness.layouts);
                ASSERT_EQ(run(harness, object, session, {4, count, threads, true}, 2, 1, some_leave), "");
                std::uint64_t fired = std::min(threads, count), lanes = 0;
                for (std::uint64_t thread = 0; thread < fired; ++thread)
                    lanes += thread % 32;
                EXPECT_EQ(session.sum(0, 0, 0), 2 * (fired * (fired - 1) / 2)) << threads << " " << count;
                EXPECT_EQ(session.sum(0, 0, 8), 2 * lanes) << threads << " " << count;
                EXPECT_EQ(session.sum(0, 0, 16), 2 * fired) << threads << " " << count;
            }
}

TEST_P(Targets, ShardsBySm) {
    const Object object = bundled("bandwidth");
    Harness harness(object, GetParam(), 3);
    ASSERT_EQ(harness.layouts[0].shards, 3u);
    SimulatedSession session(harness.layouts);
    ASSERT_EQ(run(harness, object, session, {4, 64, 64, true}, 8, 4), "");
    EXPECT_EQ(session.sum(0, 0, 0), 8u * 64 * 4);
    EXPECT_EQ(session.sum(0, 0, 8), 8u * 64);
    // SMs 0 to 3 run two blocks each; SM 3 shares the shard of SM 0.
    for (std::uint32_t shard = 0; shard < 3; ++shard)
        EXPECT_EQ(session.read<std::uint64_t>(0, shard * harness.layouts[0].shard_distance() + 8),
                  (shard == 0 ? 4u : 2u) * 64);
}

TEST_P(Targets, WarpFields) {
    const Object object =
        field_sums("gpu.warp/mem", {"active_mask", "active_lanes", "lane", "warp", "thread.x", "bytes"});
    Harness harness(object, GetParam());
    SimulatedSession session(harness.layouts);
    ASSERT_EQ(run(harness, object, session, {4, 40, 64, true}), "");
    EXPECT_EQ(session.sum(0, 0, 48), 2u);
    EXPECT_EQ(session.sum(0, 0, 0), 0xffffffffull + 0xff);
    EXPECT_EQ(session.sum(0, 0, 8), 40u);
    EXPECT_EQ(session.sum(0, 0, 16), 0u);
    EXPECT_EQ(session.sum(0, 0, 24), 0u + 1);
    EXPECT_EQ(session.sum(0, 0, 32), 0u + 32);
    EXPECT_EQ(session.sum(0, 0, 40), 160u);
}

TEST_P(Targets, ThreadFields) {
    const Object object =
        field_sums("gpu/mem", {"active_lanes", "lane", "warp", "thread.x", "bytes", "sectors", "block.x"});
    Harness harness(object, GetParam());
    SimulatedSession session(harness.layouts);
    ASSERT_EQ(run(harness, object, session, {4, 40, 64, true}, 2), "");
    EXPECT_EQ(session.sum(0, 0, 56), 80u);
    EXPECT_EQ(session.sum(0, 0, 0), 2u * (32 * 32 + 8 * 8));
    EXPECT_EQ(session.sum(0, 0, 8), 2u * (31 * 32 / 2 + 7 * 8 / 2));
    EXPECT_EQ(session.sum(0, 0, 16), 2u * 8);
    EXPECT_EQ(session.sum(0, 0, 24), 2u * (40 * 39 / 2));
    EXPECT_EQ(session.sum(0, 0, 32), 2u * 160);
    EXPECT_EQ(session.sum(0, 0, 40), 80u);
    EXPECT_EQ(session.sum(0, 0, 48), 40u);
}

/// Places written to variables, and a register: of the lanes that fire, whose others' variables are their own.
TEST_P(Targets, HelpersOfBpftime) {
    const Object object = assembled(
        "mov %r1, %r10\nadd %r1, -16\nmov %r2, %r10\nadd %r2, -24\nmov %r3, %r10\nadd %r3, -32\ncall 505\ncall 506\n"
        "call 511\nmov %r9, %r0\nstw [%r10-4], 0\nmov %r2, %r10\nadd %r2, -4\nlddw %r1, " +
        map_address(0) +
        "\ncall 1\njeq %r0, 0, out\nldxdw %r1, [%r10-16]\nlock add [%r0+0], %r1\nlock add [%r0+8], %r9\n"
        "ldxdw %r1, [%r10-24]\nlock add [%r0+16], %r1\nmov %r1, 1\nlock add [%r0+24], %r1\nout:\nmov %r0, 0\nexit\n");
    Harness harness(object, GetParam());
    SimulatedSession session(harness.layouts);
    ASSERT_EQ(run(harness, object, session, {4, 40, 64, true}, 2), "");
    EXPECT_EQ(session.sum(0, 0, 0), 2u * (40 * 39 / 2));
    EXPECT_EQ(session.sum(0, 0, 8), 2u * (31 * 32 / 2 + 7 * 8 / 2));
    EXPECT_EQ(session.sum(0, 0, 16), 0u);
    EXPECT_EQ(session.sum(0, 0, 24), 80u);
}

/// A program with a branch: lanes that don't fire jump over it, the others decide for themselves.
TEST_P(Targets, BranchesPerLane) {
    const std::string text =
        "ldxw %r7, [%r1+76]\nstw [%r10-4], 0\nmov %r2, %r10\nadd %r2, -4\nlddw %r1, " + map_address(0) +
        "\ncall 1\njeq %r0, 0, out\nmov %r1, 1\njgt %r7, 9, big\nlock add [%r0+0], %r1\nja out\nbig:\n"
        "lock add [%r0+8], %r1\nout:\nmov %r0, 0\nexit\n";
    for (const bool accumulated : {false, true}) {
        const Object object = assembled(text);
        Harness harness(object, GetParam());
        if (accumulated)
            harness.keep({{0, 0, 0}, {0, 0, 8}});
        SimulatedSession session(harness.layouts);
        ASSERT_EQ(run(harness, object, session, {4, 40, 64, true}), "");
        EXPECT_EQ(session.sum(0, 0, 0), 10u);
        EXPECT_EQ(session.sum(0, 0, 8), 30u);
    }
}

/// Sizes that only the lanes know: a register of each, or a predicate of those that move nothing.
TEST_P(Targets, SizesOfAsynchronousCopies) {
    if (GetParam() < 80)
        GTEST_SKIP() << "asynchronous copies are of sm_80 and later";
    for (const char* section : {"gpu.warp/async_copy", "gpu/async_copy"})
        for (const bool guarded : {true, false}) {
            const Object object = field_sums(section, {"bytes"});
            Harness harness(object, GetParam());
            harness.site.bytes_register = "%r1";  // the thread's number
            SimulatedSession session(harness.layouts);
            ASSERT_EQ(run(harness, object, session, {4, 40, 64, guarded}), "");
            const std::uint64_t threads = guarded ? 40 : 64;
            EXPECT_EQ(session.sum(0, 0, 0), threads * (threads - 1) / 2) << section;
            Harness none_if(object, GetParam());
            none_if.site.bytes_register = "%p1";  // of the first 40 threads
            none_if.site.bytes_register_bits = 1;
            SimulatedSession other(none_if.layouts);
            ASSERT_EQ(run(none_if, object, other, {4, 40, 64, false}), "");
            EXPECT_EQ(other.sum(0, 0, 0), 4u * 24) << section;
        }
}

/// Local memory: neighbouring lanes' words are neighbouring, whatever their address.
TEST_P(Targets, SectorsOfLocalMemory) {
    const Object object = field_sums("gpu.warp/mem", {"sectors"});
    for (const std::uint32_t bytes : {1u, 4u, 8u, 16u}) {
        Harness harness(object, GetParam());
        harness.site.space = Space::local;
        harness.site.bytes_per_lane = bytes;
        SimulatedSession session(harness.layouts);
        // All lanes at the same address, 20 of them: 3 groups of 8 lanes.
        ASSERT_EQ(run(harness, object, session, {0, 20, 32, true}), "");
        EXPECT_EQ(session.sum(0, 0, 0), 3u * std::max(1u, bytes / 4)) << bytes;
    }
}

TEST_P(Targets, SectorsOfGenericAddresses) {
    const Object object = field_sums("gpu.warp/mem", {"sectors"});
    Harness harness(object, GetParam());
    harness.site.space = Space::generic;
    SimulatedSession session(harness.layouts);
    ASSERT_EQ(run(harness, object, session, {16, 40, 64, true}), "");
    EXPECT_EQ(session.sum(0, 0, 0), 16u + 4);
}

/// The array's element of each lane, at an index known only at run time; what lies outside is NULL.
TEST_P(Targets, ArrayAtARunTimeIndex) {
    const std::string text = "ldxw %r7, [%r1+76]\nstxw [%r10-4], %r7\nmov %r2, %r10\nadd %r2, -4\nlddw %r1, " +
                             map_address(2) +
                             "\ncall 1\njeq %r0, 0, out\nmov %r1, 3\nlock add [%r0+8], %r1\nout:\n"
                             "mov %r0, 0\nexit\n";
    const Object object = assembled(text);
    Harness harness(object, GetParam());
    SimulatedSession session(harness.layouts);
    ASSERT_EQ(run(harness, object, session, {4, 40, 64, true}), "");
    for (std::uint32_t slot = 0; slot < 8; ++slot)
        EXPECT_EQ(session.sum(2, slot, 8), 3u) << slot;
}

TEST_P(Targets, UpdateAtARunTimeIndex) {
    std::string text = "ldxw %r7, [%r1+76]\n";
    for (int word = 0; word < 8; ++word)
        text += fmt::format("stxdw [%r10-{}], %r7\nadd %r7, 100\n", 72 - word * 8);
    text +=
        "add %r7, -800\nstxw [%r10-8], %r7\nmov %r2, %r10\nadd %r2, -8\nmov %r3, %r10\nadd %r3, -72\nmov %r4, 0\nlddw "
        "%r1, " +
        map_address(0) + "\ncall 2\nmov %r0, 0\nexit\n";
    const Object object = assembled(text);
    Harness harness(object, GetParam());
    SimulatedSession session(harness.layouts);
    ASSERT_EQ(run(harness, object, session, {4, 6, 64, true}), "");
    for (std::uint32_t slot = 0; slot < 8; ++slot)
        for (std::uint32_t word = 0; word < 8; ++word)
            EXPECT_EQ(session.sum(0, slot, word * 8), slot < 6 ? slot + word * 100 : 0) << slot;
}

TEST_P(Targets, MovedValue) {
    const std::string text =
        "mov %r9, %r1\nmov %r2, %r10\nadd %r2, -16\nmov %r3, 8\ncall 0x10004\nldxdw %r7, [%r10-16]\n"
        "stw [%r10-4], 0\nmov %r2, %r10\nadd %r2, -4\nlddw %r1, " +
        map_address(0) + "\ncall 1\njeq %r0, 0, out\nstxdw [%r0+0], %r7\nout:\nmov %r0, 0\nexit\n";
    const Object object = assembled(text, "gpu/store");
    Harness harness(object, GetParam());
    harness.site.access = ebpf::Access::store;
    harness.site.values = {"%f1", "%f2"};
    harness.site.value_type = "f32";
    SimulatedSession session(harness.layouts);
    ASSERT_EQ(run(harness, object, session, {4, 1, 1, false}), "");
    EXPECT_EQ(session.sum(0, 0, 0), 0x400000003f800000u);
}

INSTANTIATE_TEST_SUITE_P(Sm, Targets, ::testing::Values(60u, 75u, 90u));

}  // namespace
}  // namespace egpu::inject::testing
