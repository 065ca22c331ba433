// SPDX-License-Identifier: Apache-2.0
// Copies with two bodies: which blocks and warps run the programs is worked out here from the rule in the README of
// core/inject, not from what egpu writes; results are those of the original.
#include <gmock/gmock.h>

#include <cmath>

#include <fmt/format.h>

#include "copy_run.hpp"

namespace egpu::inject {
namespace {

using testing::CopyRun, testing::kAll, testing::kBlocks, testing::kElements, testing::kThreads, testing::Shape;
using Unit = Sampling::Unit;

bool is_chosen(std::uint32_t index, std::uint32_t one_in) {
    std::uint32_t mixed = index * 0x6a09e667u;
    mixed ^= mixed >> 15;
    mixed *= 0xbb67ae85u;
    return (std::uint64_t{mixed} * one_in) >> 32 == 0;
}

/// Threads of a launch along x, by their number in the launch.
bool runs_programs(const Sampling& sampling, std::uint32_t thread) {
    const std::uint32_t block = thread / kThreads, warp = thread % kThreads / 32;
    return is_chosen(sampling.unit == Unit::blocks ? block : block * (kThreads / 32) + warp, sampling.one_in);
}

std::vector<Sampling> samplings() {
    std::vector<Sampling> all;
    for (const auto unit : {Unit::blocks, Unit::warps})
        for (const std::uint32_t one_in : {1u, 2u, 3u, 5u, 64u})
            all.push_back({unit, one_in});
    return all;
}

class Bodies : public ::testing::TestWithParam<Sampling> {};

TEST_P(Bodies, CountWhatTheChosenThreadsDo) {
    CopyRun run;
    run.sample(GetParam());
    run.attach("bandwidth");
    run.attach("entry_exit");
    run.run("early_return", 2);
    EXPECT_EQ(run.copy().bodies, GetParam().is_all() ? 1u : 2u);
    std::uint64_t threads = 0, warps = 0, elements = 0;
    for (std::uint32_t thread = 0; thread < kAll; ++thread) {
        const bool chosen = runs_programs(GetParam(), thread);
        threads += chosen ? 1 : 0;
        warps += chosen && thread % 32 == 0 ? 1 : 0;
        elements += chosen && thread < kElements ? 1 : 0;
    }
    ASSERT_GT(threads, 0u) << "the first is always chosen";
    EXPECT_EQ(run.word("entry_exit/ends", {7}, 0), threads);
    EXPECT_EQ(run.word("entry_exit/ends", {7}, 8), threads);
    EXPECT_EQ(run.word("entry_exit/ends", {7}, 16), warps);
    EXPECT_EQ(run.total("bandwidth/traffic", 0), 3 * 4 * elements);
    EXPECT_EQ(run.total("bandwidth/traffic", 8), 3 * elements);
}

TEST_P(Bodies, ProbesThatAreNotSampledCountEverything) {
    CopyRun run;
    run.attach("bandwidth");
    run.sample(GetParam());
    run.attach("coalescing");
    run.attach("latency");
    run.run("loops");
    std::uint64_t loads = 0, requests = 0, warps = 0;
    for (std::uint32_t warp = 0; warp < kAll / 32; ++warp) {
        const bool chosen = runs_programs(GetParam(), warp * 32);
        warps += chosen ? 1 : 0;
        for (std::uint32_t round = 0; round < 6; ++round)
            for (std::uint32_t step = 0; step < 3; ++step) {
                std::uint64_t lanes = 0;
                for (std::uint32_t lane = 0; lane < 32; ++lane) {
                    const std::uint32_t thread = warp * 32 + lane;
                    lanes += round < thread % 7 && (thread + step) % kElements % 2 == 1 ? 1 : 0;
                }
                loads += lanes;
                requests += chosen && lanes > 0 ? 1 : 0;
            }
    }
    EXPECT_EQ(run.total("bandwidth/traffic", 8), loads + kAll);
    EXPECT_EQ(run.total("coalescing/lines", 0), requests + warps);
    std::uint64_t timed = 0;
    for (std::uint32_t slot = 0; slot < 64; ++slot)
        timed += run.total("latency/load_latency", slot * 8);
    EXPECT_EQ(timed, requests);
}

/// Shared and local memory, barriers, a device function with accesses, atomics, early exits: what they compute stays.
TEST_P(Bodies, EveryKernelComputesTheSame) {
    for (const char* kernel : {"early_return", "loops", "everything", "branches", "atomics"}) {
        SCOPED_TRACE(kernel);
        CopyRun whole, sampled;
        for (CopyRun* run : {&whole, &sampled})
            run->attach("line_counts");
        sampled.sample(GetParam());
        for (CopyRun* run : {&whole, &sampled}) {
            run->attach("bandwidth");
            run->attach("coalescing");
            run->run(kernel, 2);
        }
        const auto of = [](CopyRun& run) { return run.total("bandwidth/traffic", 8); };
        if (GetParam().is_all()) {
            EXPECT_EQ(sampled.copy().ptx, whole.copy().ptx);
            EXPECT_EQ(of(sampled), of(whole));
        }
        EXPECT_LE(of(sampled), of(whole));
        EXPECT_EQ(sampled.session().sites().size(), whole.session().sites().size()) << "a site has one number";
    }
}

/// Constants in a bank, sums in no register: what two bodies share is what one has.
TEST_P(Bodies, ConstantsInABank) {
    CopyRun run, by_address;
    for (CopyRun* one : {&run, &by_address}) {
        one->sample(GetParam());
        one->attach("bandwidth");
        one->set_budget(0);
    }
    run.keep_constants_in_bank();
    run.run("everything");
    by_address.run("everything");
    EXPECT_FALSE(run.copy().bank.empty());
    EXPECT_EQ(run.total("bandwidth/traffic", 8), by_address.total("bandwidth/traffic", 8));
}

/// Once a grid and sampled beside each other: who comes first and leaves last is found over both bodies.
TEST_P(Bodies, WhoRunsOnceAGridSeesAllThreads) {
    CopyRun run;
    run.attach("once_a_grid");
    run.sample(GetParam());
    run.attach("bandwidth");
    run.run("early_return", 4);
    EXPECT_EQ(run.grids_word(0), 0u) << "a launch that was not followed";
    EXPECT_EQ(run.word("once_a_grid/launches", {7}, 0), 1u) << "begun";
    EXPECT_EQ(run.word("once_a_grid/launches", {7}, 8), 1u) << "ended";
}

/// The index is linear over all three dimensions of grid and block; the last warp of a block may be a part of one.
TEST_P(Bodies, IndicesOfThreeDimensions) {
    const Shape shape{{3, 2, 2}, {5, 3, 3}};
    CopyRun run;
    run.sample(GetParam());
    run.attach("entry_exit");
    run.run("early_return", 1, shape);
    const std::uint32_t threads = 45, warps = 2;
    std::uint64_t expected = 0;
    for (std::uint32_t block = 0; block < 12; ++block)
        for (std::uint32_t thread = 0; thread < threads; ++thread) {
            const std::uint32_t index = GetParam().unit == Unit::blocks ? block : block * warps + thread / 32;
            expected += is_chosen(index, GetParam().one_in) ? 1 : 0;
        }
    EXPECT_EQ(run.word("entry_exit/ends", {7}, 0), expected);
}

INSTANTIATE_TEST_SUITE_P(Sampled, Bodies, ::testing::ValuesIn(samplings()), [](const auto& information) {
    return fmt::format("{}_{}", to_name(information.param.unit), information.param.one_in);
});

/// What the rule itself promises: of any stride one in N are chosen, as far as chance would have it (5 sigma).
TEST(Choice, NoStrideOfTheApplicationMeetsIt) {
    constexpr std::uint32_t kMany = 4096;
    for (const std::uint32_t one_in : {2u, 3u, 8u, 10u, 32u, 64u, 100u})
        for (const std::uint32_t stride : {1u,   2u,   3u,   7u,   8u,   12u,  16u,   32u,   33u,   64u,   96u,
                                           108u, 128u, 132u, 144u, 255u, 256u, 1000u, 1024u, 4096u, 65536u})
            for (const std::uint32_t offset : {0u, 1u, 5u}) {
                std::uint32_t chosen = 0;
                for (std::uint32_t i = 0; i < kMany; ++i)
                    chosen += is_chosen(offset + i * stride, one_in) ? 1 : 0;
                const double mean = static_cast<double>(kMany) / one_in;
                EXPECT_NEAR(chosen, mean, 5 * std::sqrt(mean * (1 - 1.0 / one_in)))
                    << "1/" << one_in << ", stride " << stride << ", from " << offset;
            }
}

}  // namespace
}  // namespace egpu::inject
