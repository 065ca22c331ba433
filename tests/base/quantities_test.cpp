// SPDX-License-Identifier: Apache-2.0
#include "base/quantities.hpp"

#include <gtest/gtest.h>

namespace egpu {
namespace {

TEST(Quantities, ThatLookAlikeGetTheDigitsThatTellThemApart) {
    const struct {
        Quantity first, second;
        Dimension dimension;
        const char *first_text, *second_text;
    } rows[] = {
        {12'582'913, 12'582'912, Dimension::bytes, "12 582 913 B", "12 582 912 B"},
        {12'582'913, 5'000'000, Dimension::bytes, "12.6 MB", "5.00 MB"},
        {12'582'913, 12'582'913, Dimension::bytes, "12.6 MB", "12.6 MB"},
        {18446744073709551615.0L, 18446744073709551614.0L, Dimension::bytes, "18 446 744 073 709 551 615 B",
         "18 446 744 073 709 551 614 B"},
        {1'000'000'000.25L, 1'000'000'000, Dimension::rate, "1 000 000 000.2 B/s", "1 000 000 000.0 B/s"},
        {1'500'000'001, 1'500'000'000, Dimension::duration, "1 500 000 001 ns", "1 500 000 000 ns"},
        {0.125004L, 0.125L, Dimension::share, "12.5004 %", "12.5000 %"},
        {1000.001L, 1000.002L, Dimension::number, "1 000.001", "1 000.002"},
        {0, 0.001L, Dimension::number, "0.000", "0.001"},
        {2, 1.5L, Dimension::number, "2", "1.50"},
        {100.4L, 100.2L, Dimension::cycles, "100.4 cycles", "100.2 cycles"},
    };
    for (const auto& row : rows) {
        const auto [first, second] = format_apart(row.first, row.second, row.dimension);
        EXPECT_EQ(first, row.first_text);
        EXPECT_EQ(second, row.second_text);
    }
}

}  // namespace
}  // namespace egpu
