// SPDX-License-Identifier: Apache-2.0
// Many threads that send to one ring buffer, on the simulated GPU: what comes out are whole records, each of them once,
// and what does not come out is counted.
#include <gmock/gmock.h>

#include <set>

#include "ebpf/verifier/verifier.hpp"
#include "simulated.hpp"

namespace egpu::inject::testing {
namespace {

constexpr std::uint32_t kRing = 3;

/// A record of 20 bytes: thread, block, and a number made of them.
Object sending(const std::string& section, std::uint32_t ring_bytes) {
    Object object = assembled(
        "ldxw %r7, [%r1+76]\nldxw %r6, [%r1+64]\nstxw [%r10-24], %r7\nstxw [%r10-20], %r6\n"
        "mov %r5, %r7\nlsh %r5, 32\nor %r5, %r6\nlddw %r4, 0x9e3779b97f4a7c15\nmul %r5, %r4\n"
        "stxdw [%r10-16], %r5\nstw [%r10-8], 99\nmov %r2, %r10\nadd %r2, -24\nmov %r3, 20\n"
        "mov %r4, 0\nlddw %r1, " +
            map_address(kRing) + "\ncall 130\nmov %r0, 0\nexit\n",
        section);
    object.maps[kRing].max_entries = ring_bytes;
    return object;
}

/// (block, thread) of a record; its other bytes must be what the thread put there.
std::pair<std::uint32_t, std::uint32_t> sender_of(const std::vector<std::byte>& record) {
    std::uint32_t thread = 0, block = 0, last = 0;
    std::uint64_t mixed = 0;
    EXPECT_EQ(record.size(), 20u);
    if (record.size() != 20)
        return {};
    std::memcpy(&thread, record.data(), 4);
    std::memcpy(&block, record.data() + 4, 4);
    std::memcpy(&mixed, record.data() + 8, 8);
    std::memcpy(&last, record.data() + 16, 4);
    EXPECT_EQ(mixed, (std::uint64_t{thread} << 32 | block) * 0x9e3779b97f4a7c15) << block << " " << thread;
    EXPECT_EQ(last, 99u);
    return {block, thread};
}

struct Case {
    const char* name;
    std::uint32_t sm, ring_bytes, blocks, threads, count;  ///< `count`: threads of a block that come to the site
    const char* section;
};

class Ring : public ::testing::TestWithParam<Case> {};

TEST_P(Ring, EveryRecordComesOutOnceOrIsCounted) {
    const Case& each = GetParam();
    const Object object = sending(each.section, each.ring_bytes);
    const auto verified = verify(object, object.programs.at(0));
    ASSERT_TRUE(verified) << to_text(verified.error());
    Harness harness(object, each.sm);
    harness.site.guard = "%p1";
    const auto probe = harness.emit(object);
    ASSERT_TRUE(probe) << to_text(probe.error());
    EXPECT_EQ(probe->text.find("bra"), std::string::npos) << "lanes stay together";
    const std::string module = harness.module(*probe);
    SimulatedSession session(harness.layouts);
    RingPlace place;
    std::uint64_t received = 0;
    const std::uint64_t senders = harness.site.granularity == Granularity::warp ? (each.count + 31) / 32 : each.count;
    constexpr int kLaunches = 5;
    for (int launch = 1; launch <= kLaunches; ++launch) {
        ASSERT_EQ(session.run(module, harness.table, each.blocks, each.threads, each.count, 4), "");
        const auto records = session.take_records(kRing, each.ring_bytes, place);
        std::set<std::pair<std::uint32_t, std::uint32_t>> from;
        for (const auto& record : records) {
            const auto sender = sender_of(record);
            EXPECT_TRUE(from.insert(sender).second) << sender.first << " " << sender.second;
            EXPECT_LT(sender.first, each.blocks);
            EXPECT_LT(sender.second, each.count);
        }
        received += records.size();
        EXPECT_EQ(received + session.records_dropped(kRing, each.ring_bytes), launch * senders * each.blocks);
    }
    // What fits in a ring of so many bytes: a record takes 32.
    const maps::RingBuffer ring{each.ring_bytes};
    const std::uint64_t fits = std::uint64_t{ring.chunk_bytes() / 32} * maps::RingBuffer::kChunks;
    if (senders * each.blocks <= fits / 2) {
        EXPECT_EQ(received, kLaunches * senders * each.blocks) << "there was room";
    } else {
        EXPECT_GT(received, fits / 2);
    }
}

INSTANTIATE_TEST_SUITE_P(Senders, Ring,
                         ::testing::Values(Case{"one", 75, 4096, 1, 32, 1, "gpu/mem"},
                                           Case{"some_lanes", 75, 65536, 3, 64, 41, "gpu/mem"},
                                           Case{"full", 75, 4096, 8, 128, 100, "gpu/mem"},
                                           Case{"chunk_after_chunk", 75, 16384, 4, 96, 64, "gpu/mem"},
                                           Case{"pascal", 60, 4096, 4, 64, 64, "gpu/mem"},
                                           Case{"warps", 80, 8192, 16, 256, 256, "gpu.warp/mem"}),
                         [](const auto& information) { return std::string(information.param.name); });

}  // namespace
}  // namespace egpu::inject::testing
