// SPDX-License-Identifier: Apache-2.0
// A seeded run of the comparison that tests/fuzz/differential_fuzz.cpp makes for as long as one likes.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "differential.hpp"

namespace egpu::inject::testing {
namespace {

TEST(Differential, EnginesAgreeOnAcceptedPrograms) {
    std::mt19937 random(20261201);
    DifferentialStatistics statistics;
    for (int round = 0; round < 250'000; ++round) {
        std::vector<std::uint8_t> bytes(12 + random() % 60);
        std::generate(bytes.begin(), bytes.end(), [&] { return static_cast<std::uint8_t>(random()); });
        const auto wrong = disagreement(bytes, statistics);
        ASSERT_FALSE(wrong) << "round " << round << "\n" << *wrong;
    }
    std::printf("%s", statistics.text().c_str());
    // Too few, and the run shows nothing.
    EXPECT_GE(statistics.accepted, 10'000u);
    EXPECT_GE(statistics.effects, 10'000u);
    for (const std::uint64_t kind : {statistics.of_many_lanes, statistics.unspecialized, statistics.hidden,
                                     statistics.accumulators, statistics.searched, statistics.sent})
        EXPECT_GE(kind, 1'000u);
}

}  // namespace
}  // namespace egpu::inject::testing
