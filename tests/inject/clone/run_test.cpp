// SPDX-License-Identifier: Apache-2.0
// Copies on the simulated GPU beside their originals: the same results to the last bit, and counts equal to what the
// kernels do by their own text, worked out below.
#include <gmock/gmock.h>

#include <fmt/format.h>

#include "copy_run.hpp"

namespace egpu::inject {
namespace {

using testing::CopyRun, testing::kAll, testing::kBlocks, testing::kElements;

/// Key of bandwidth's map: kernel 7, space, access; words: requested bytes, accesses.
struct Traffic {
    ebpf::Space space;
    ebpf::Access access;
    std::uint64_t bytes, accesses;
};
void expect_traffic(CopyRun& run, const std::vector<Traffic>& expected) {
    std::uint64_t all_bytes = 0;
    for (const auto& one : expected) {
        const std::vector<std::uint32_t> key{7, static_cast<std::uint32_t>(one.space),
                                             static_cast<std::uint32_t>(one.access)};
        EXPECT_EQ(run.word("bandwidth/traffic", key, 0), one.bytes) << to_name(one.space) << " " << to_name(one.access);
        EXPECT_EQ(run.word("bandwidth/traffic", key, 8), one.accesses)
            << to_name(one.space) << " " << to_name(one.access);
        all_bytes += one.bytes;
    }
    EXPECT_EQ(run.total("bandwidth/traffic", 0), all_bytes) << "bytes under a key that isn't expected";
}

using enum ebpf::Space;
using enum ebpf::Access;

class Budgets : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(Budgets, EarlyReturn) {
    CopyRun run;
    run.attach("bandwidth");
    run.attach("entry_exit");
    run.set_budget(GetParam());
    run.run("early_return");
    expect_traffic(run, {{global, load, 2 * 4 * kElements, 2 * kElements}, {global, store, 4 * kElements, kElements}});
    EXPECT_EQ(run.word("entry_exit/ends", {7}, 0), kAll);
    EXPECT_EQ(run.word("entry_exit/ends", {7}, 8), kAll);
    EXPECT_EQ(run.word("entry_exit/ends", {7}, 16), kAll / 32);
    // 300 = 9 warps and 12 lanes: of the mixed warp, 20 lanes leave first; then odd lanes, then even ones.
    EXPECT_EQ(run.word("entry_exit/ends", {7}, 24), 2u + 1u + 2u * 10u);
}

TEST_P(Budgets, CarryOfTheApplication) {
    CopyRun run;
    run.attach("bandwidth");
    run.set_budget(GetParam());
    run.run("carry");
    const std::uint64_t loads = kAll + kAll / 2 + kAll / 2;
    expect_traffic(run, {{global, load, 4 * loads, loads}, {global, store, 4 * kAll, kAll}});
}

TEST_P(Budgets, Loops) {
    CopyRun run;
    run.attach("bandwidth");
    run.attach("coalescing");
    run.attach("latency");
    run.set_budget(GetParam());
    run.run("loops");
    std::uint64_t loads = 0, requests = 0;
    for (std::uint32_t warp = 0; warp < kAll / 32; ++warp)
        for (std::uint32_t round = 0; round < 6; ++round)
            for (std::uint32_t step = 0; step < 3; ++step) {
                std::uint64_t lanes = 0;
                for (std::uint32_t lane = 0; lane < 32; ++lane) {
                    const std::uint32_t thread = warp * 32 + lane;
                    lanes += round < thread % 7 && (thread + step) % kElements % 2 == 1 ? 1 : 0;
                }
                loads += lanes;
                requests += lanes > 0 ? 1 : 0;
            }
    expect_traffic(run, {{global, load, 4 * loads, loads}, {global, store, 4 * kAll, kAll}});
    EXPECT_EQ(run.total("coalescing/lines", 0), requests + kAll / 32);
    EXPECT_EQ(run.total("coalescing/lines", 16), 4 * loads + 4 * kAll);
    std::uint64_t timed = 0;
    for (std::uint32_t slot = 0; slot < 64; ++slot)
        timed += run.total("latency/load_latency", slot * 8);
    EXPECT_EQ(timed, requests);
}

TEST_P(Budgets, EverySpaceAndForm) {
    CopyRun run;
    run.attach("bandwidth");
    run.attach("coalescing");
    run.set_budget(GetParam());
    run.run("everything");
    const std::uint64_t low = kBlocks * 41;  // threads 0 to 40 of a block read local memory, the others shared memory
    expect_traffic(run, {{global, load, 16 * kAll + 4 * kAll / 2, kAll + kAll / 2},
                         {global, store, 4 * kAll, kAll},
                         {global, atomic, 4 * kAll + 8 * 5 * kBlocks, kAll + 5 * kBlocks},
                         {shared, store, 4 * kAll, kAll},
                         {shared, load, 4 * kAll + 4 * (kAll - low), kAll + kAll - low},
                         {constant, load, 2 * 4 * kAll, 2 * kAll},
                         {local, store, 4 * kAll, kAll},
                         {local, load, 4 * low, low}});
    // Requests to global memory: vector load, atomic, red in one warp a block, the function's load, the store.
    EXPECT_EQ(run.total("coalescing/lines", 0), 4 * kAll / 32 + kBlocks);
}

/// Blocks that few lanes or one come to, guarded accesses, several ways out.
TEST_P(Budgets, Branches) {
    CopyRun run;
    run.attach("bandwidth");
    run.set_budget(GetParam());
    run.run("branches");
    std::uint64_t loads = 0, loaded = 0, stores = 0, stored = 0;
    const auto add = [](std::uint64_t& count, std::uint64_t& bytes, std::uint64_t times, std::uint64_t size) {
        count += times;
        bytes += times * size;
    };
    for (std::uint32_t thread = 0; thread < kAll; ++thread) {
        add(loads, loaded, 1, 4);
        add(loads, loaded, thread % 2, 8);
        if (thread % 32 == 5) {
            add(loads, loaded, 1, 4);
            add(stores, stored, 1, 8);
        } else if (thread % 3 == 0) {
            add(loads, loaded, 2, 4);
            add(stores, stored, 1, 4);
        }
        if (thread % 7 == 0)
            continue;
        add(loads, loaded, 2 * (thread % 5), 4);
        add(stores, stored, thread % 5 / 2 + 1, 4);
    }
    expect_traffic(run, {{global, load, loaded, loads}, {global, store, stored, stores}});
}
INSTANTIATE_TEST_SUITE_P(Run, Budgets, ::testing::Values(0, 1, 4, 16),
                         [](const auto& information) { return fmt::format("Registers{}", information.param); });

/// Constants by address and in the copy's own bank: the same results, and programs see the original's addresses.
class Constants : public ::testing::TestWithParam<bool> {};

TEST_P(Constants, HoldWhatTheHostPutThere) {
    CopyRun run;
    run.attach("constant_addresses");
    run.attach("bandwidth");
    if (GetParam())
        run.keep_constants_in_bank();
    run.run("everything");
    EXPECT_EQ(run.copy().bank.size(), GetParam() ? 1U : 0U);
    EXPECT_EQ(run.word("constant_addresses/where_read", {0}, 0), 2 * kAll);
    // Each thread reads element 1, and one of four in turn: bytes 4, and 0, 4, 8 or 12.
    EXPECT_EQ(run.word("constant_addresses/where_read", {0}, 8),
              2 * kAll * run.address_of_table() + 4 * kAll + kAll / 4 * (0 + 4 + 8 + 12));
}
INSTANTIATE_TEST_SUITE_P(Run, Constants, ::testing::Bool(),
                         [](const auto& information) { return information.param ? "InTheBank" : "ByAddress"; });

TEST(Run, ManyWorkersGiveTheSameCounts) {
    CopyRun run;
    run.attach("bandwidth");
    run.run("loops", 2);
    EXPECT_EQ(run.word("bandwidth/traffic", {7, 0, 1}, 8), kAll);
}

TEST(Run, AccumulatorsAreTaken) {
    CopyRun run;
    run.attach("bandwidth");
    run.run("loops");
    EXPECT_EQ(run.copy().accumulators, 1u);  // the accesses of the load in the loops; the one store adds itself
}

TEST(Run, CountsBySiteAndAReaderOfACount) {
    CopyRun run;
    run.attach("line_counts");
    run.run("early_return");
    EXPECT_EQ(run.total("line_counts/accesses", 0), 3 * kElements);
    EXPECT_EQ(run.word("line_counts/totals", {0}, 0), 2 * kElements);
    EXPECT_LE(run.word("line_counts/totals", {1}, 0), kAll);
    EXPECT_EQ(run.session().sites().size(), 4u);
}

}  // namespace
}  // namespace egpu::inject
