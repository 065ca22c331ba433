// SPDX-License-Identifier: Apache-2.0
// The pieces of the agent's measurement of overhead that need no driver: logarithm, order, shapes.
#include <gtest/gtest.h>

#include <cmath>

#include "agent/timing/logarithm.hpp"
#include "agent/timing/pairing.hpp"

namespace egpu::agent {
namespace {

TEST(Logarithm, IsTheLibrarys) {
    for (double x = 1e-9; x < 1e12; x *= 1.0137)
        EXPECT_NEAR(natural_logarithm(x), std::log(x), 1e-15 * std::max(1.0, std::abs(std::log(x)))) << x;
    for (const double x : {1.0, std::nextafter(1.0, 2), std::nextafter(1.0, 0), std::sqrt(2.0), std::sqrt(0.5), 2.0})
        EXPECT_NEAR(natural_logarithm(x), std::log(x), 1e-16) << x;
}

TEST(Order, IsInStepWithNothing) {
    // Of any period that an application may have, each of its launches runs the copy about every second time.
    constexpr std::uint64_t kPairs = 20'000;
    for (const std::uint64_t period : {1U, 2U, 3U, 4U, 5U, 7U, 8U, 10U, 16U, 64U})
        for (std::uint64_t phase = 0; phase < period; ++phase) {
            std::uint64_t copies = 0, all = 0;
            for (std::uint64_t pair = phase; pair < kPairs; pair += period, ++all)
                copies += first_runs_copy(pair) ? 1 : 0;
            const auto expected = static_cast<double>(all) / 2;
            EXPECT_NEAR(static_cast<double>(copies), expected, 4 * std::sqrt(expected / 2)) << period << " " << phase;
        }
}

TEST(Shapes, DifferInEachPart) {
    std::vector<TimedShape> shapes(14);
    for (int i = 0; i < 3; ++i) {
        shapes[static_cast<std::size_t>(i)].grid[i] = 2;
        shapes[static_cast<std::size_t>(i) + 3].block[i] = 2;
        shapes[static_cast<std::size_t>(i) + 6].cluster[i] = 2;
    }
    shapes[9].shared_bytes = 2;
    shapes[10].cooperative = true;
    shapes[11].grid[0] = shapes[11].block[0] = 2;
    shapes[12].grid[0] = shapes[12].grid[1] = 2;
    for (std::size_t i = 0; i < shapes.size(); ++i)
        for (std::size_t j = 0; j < i; ++j)
            EXPECT_NE(key_of(shapes[i]) & OpenPair::kKey, key_of(shapes[j]) & OpenPair::kKey) << i << " " << j;
    EXPECT_EQ(key_of({}), key_of(shapes[13]));
}

TEST(Shapes, AWordHoldsAPair) {
    for (const unsigned int slot : {0u, 1u, 255u, kNoSlot})
        for (const bool copy : {false, true})
            for (const std::uint64_t key : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}}) {
                const std::uint64_t word = OpenPair{copy, slot, key}.word();
                const OpenPair read = OpenPair::of(word);
                EXPECT_TRUE(OpenPair::is_open(word)) << "whatever it holds";
                EXPECT_EQ(read.first_runs_copy, copy);
                EXPECT_EQ(read.slot, slot);
                EXPECT_EQ(read.key, key & OpenPair::kKey);
            }
    EXPECT_FALSE(OpenPair::is_open(0));
}

}  // namespace
}  // namespace egpu::agent
