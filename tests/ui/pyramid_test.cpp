// SPDX-License-Identifier: Apache-2.0
// What a picture shows of many points must be what a look at each of them finds.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "ui/model/series_buffer.hpp"

namespace egpu::ui {
namespace {

constexpr double kGap = std::numeric_limits<double>::quiet_NaN();

Bucket one_by_one(const SeriesBuffer& buffer, std::uint64_t begin, std::uint64_t end) {
    Bucket bucket;
    for (std::uint64_t i = std::max(begin, buffer.begin()); i < std::min(end, buffer.end()); ++i)
        bucket.add(buffer.at(i).value);
    return bucket;
}

void expect_same(const Bucket& got, const Bucket& wanted) {
    EXPECT_EQ(got.points, wanted.points);
    ASSERT_EQ(got.count, wanted.count);
    if (wanted.count == 0)
        return;
    EXPECT_EQ(got.min, wanted.min);
    EXPECT_EQ(got.max, wanted.max);
    EXPECT_EQ(got.last, wanted.last);
}

TEST(Pyramid, AnyRangeIsWhatItsPointsAre) {
    std::mt19937 random(7);
    std::uniform_real_distribution<double> value(-1000, 1000);
    for (const std::size_t capacity : {1u, 15u, 16u, 17u, 256u, 1000u, 5000u}) {
        SeriesBuffer buffer(capacity);
        for (int i = 0; i < 12'345; ++i) {
            buffer.append(i * 10, i % 37 == 0 ? kGap : value(random));
            if (i % 501 != 0 && i != 12'344)
                continue;
            ASSERT_LE(buffer.end() - buffer.begin(), capacity);
            std::uniform_int_distribution<std::uint64_t> number(buffer.begin(), buffer.end());
            for (int question = 0; question < 40; ++question) {
                const auto [begin, end] = std::minmax({number(random), number(random)});
                SCOPED_TRACE(testing::Message() << "capacity " << capacity << " points " << begin << " to " << end);
                expect_same(buffer.aggregate(begin, end), one_by_one(buffer, begin, end));
            }
        }
    }
}

TEST(Pyramid, PointsThatMadeWayAreNotCounted) {
    SeriesBuffer buffer(100);
    buffer.append(0, 1e9);
    for (int i = 1; i <= 100; ++i)
        buffer.append(i, i);
    EXPECT_EQ(buffer.begin(), 1u);
    EXPECT_EQ(buffer.aggregate(0, buffer.end()).max, 100);
}

TEST(Pyramid, OnlyGapsAreNoNumber) {
    SeriesBuffer buffer(64);
    buffer.append(0, 5);
    buffer.append_gap(1);
    buffer.append_gap(2);  // one gap is enough
    EXPECT_EQ(buffer.end(), 2u);
    const Bucket gap = buffer.aggregate(1, 2);
    EXPECT_TRUE(gap.empty());
    EXPECT_TRUE(gap.has_gap());
}

TEST(SeriesBuffer, AGapBeforeTheFirstPointIsNone) {
    SeriesBuffer buffer(8);
    buffer.append_gap(3);
    EXPECT_TRUE(buffer.empty());
    EXPECT_FALSE(buffer.nearest(3));
}

TEST(SeriesBuffer, LowerBoundWhateverTheHint) {
    SeriesBuffer buffer(50);
    for (int i = 0; i < 120; ++i)
        buffer.append(i / 3 * 10, i);  // three points share each time
    for (Time time = buffer.at(buffer.begin()).time - 20; time < 420; time += 5) {
        std::uint64_t wanted = buffer.begin();
        while (wanted < buffer.end() && buffer.at(wanted).time < time)
            ++wanted;
        for (std::uint64_t hint = 0; hint < 130; hint += 7)
            ASSERT_EQ(buffer.lower_bound(time, hint), wanted) << "time " << time << " hint " << hint;
    }
}

TEST(SeriesBuffer, NearestIsTheNearestOfTwo) {
    SeriesBuffer buffer(8);
    buffer.append(100, 1);
    buffer.append(200, 2);
    EXPECT_EQ(buffer.nearest(0)->value, 1);
    EXPECT_EQ(buffer.nearest(149)->value, 1);
    EXPECT_EQ(buffer.nearest(151)->value, 2);
    EXPECT_EQ(buffer.nearest(999)->value, 2);
}

TEST(SeriesBuffer, TimesNeverGoBack) {
    SeriesBuffer buffer(8);
    buffer.append(100, 1);
    buffer.append(90, 2);
    EXPECT_EQ(buffer.at(1).time, 100);
}

TEST(SeriesBuffer, ColumnsTakeEachPointOnce) {
    SeriesBuffer buffer(10'000);
    for (int i = 0; i < 10'000; ++i)
        buffer.append(i, i);
    std::vector<Bucket> columns(333);
    buffer.columns(1000, 9000, columns);
    std::uint32_t points = 0;
    double before = 999;
    for (const auto& column : columns) {
        points += column.points;
        EXPECT_EQ(column.min, before + 1);
        before = column.max;
    }
    EXPECT_EQ(points, 8000u);
    EXPECT_EQ(before, 8999);
}

TEST(SeriesBuffer, ColumnsOfManyPointsAreWholeBuckets) {
    for (const int many : {100, 700, 20'000}) {  // points a column
        constexpr int kColumns = 50;
        const int first = 333, last = first + many * kColumns;
        SeriesBuffer buffer(static_cast<std::size_t>(last) + 1000);
        for (int i = 0; i < last + 1000; ++i)
            buffer.append(i, i);
        std::vector<Bucket> columns(kColumns);
        buffer.columns(first, last, columns);
        double next = first;
        for (int i = 0; i < kColumns; ++i) {
            const Bucket& column = columns[static_cast<std::size_t>(i)];
            ASSERT_EQ(column.min, next) << many << " points, column " << i;
            next = column.max + 1;
            EXPECT_LE(std::abs(next - (first + (i + 1.0) * many)), many / 4.0) << many << " points, column " << i;
        }
        EXPECT_EQ(next, last);
    }
}

TEST(SeriesBuffer, APauseWithinABucketStaysInItsColumns) {
    SeriesBuffer buffer(100'000);
    for (int i = 0; i < 50'005; ++i)
        buffer.append(i, 1);
    for (int i = 0; i < 50'000; ++i)
        buffer.append(500'000 + i, 2);
    std::vector<Bucket> columns(110);  // 5000 points each
    buffer.columns(0, 550'000, columns);
    EXPECT_EQ(columns[9].max, 1);
    EXPECT_EQ(columns[10].points, 5u);
    for (std::size_t i = 11; i < 100; ++i)
        EXPECT_EQ(columns[i].points, 0u) << i;
    EXPECT_EQ(columns[100].min, 2);
    EXPECT_EQ(columns[109].min, 2);
}

}  // namespace
}  // namespace egpu::ui
