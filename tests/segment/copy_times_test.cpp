// SPDX-License-Identifier: Apache-2.0
// Times of copies: where they lie, what a reader gets of them while they are written.
#include "segment/access/copy_times.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <thread>

#include "memory_segment.hpp"
#include "segment/layout/build_id.h"

namespace egpu::segment {
namespace {

View opened(MemorySegment& memory) {
    View view;
    EXPECT_EQ(View::open(memory.base(), memory.bytes(), egpu_segment_build_id(), &view), AccessError::none);
    return view;
}

TEST(CopyTimes, AreThereOnlyWhereTheyAreAskedFor) {
    MemorySegment measuring;
    EXPECT_EQ(opened(measuring).copy_times().size(), 8u) << "one a copy";
    EXPECT_EQ(opened(measuring).header().measure_overhead, 1u);
    SegmentRequest request = small_request();
    request.measure_overhead = false;
    MemorySegment plain(request);
    EXPECT_TRUE(opened(plain).copy_times().empty());
    EXPECT_EQ(opened(plain).header().measure_overhead, 0u);
}

TEST(CopyTimes, OutsideTheSegmentTheyAreDamage) {
    MemorySegment memory;
    memory.header().copy_times.offset = memory.bytes() - 64;
    View view;
    EXPECT_EQ(View::open(memory.base(), memory.bytes(), egpu_segment_build_id(), &view), AccessError::corrupt);
}

TEST(CopyTimes, AddUp) {
    egpu_copy_times times{};
    add_pair(times, {1000, 1100, std::log(1.1)});
    add_pair(times, {3000, 3600, std::log(1.2)});
    const auto sums = read_times(times);
    ASSERT_TRUE(sums);
    EXPECT_EQ(sums->pairs, 2u);
    EXPECT_EQ(sums->original_ns, 4000u);
    EXPECT_EQ(sums->instrumented_ns, 4700u);
    EXPECT_DOUBLE_EQ(sums->log_ratio, std::log(1.1) + std::log(1.2));
    EXPECT_DOUBLE_EQ(sums->log_ratio_squares, std::pow(std::log(1.1), 2) + std::pow(std::log(1.2), 2));
}

TEST(CopyTimes, SingleLaunchesAreNoPairs) {
    SegmentRequest request = small_request();
    request.measure_overhead = false;
    request.time_launches = true;
    MemorySegment memory(request);
    const View view = opened(memory);
    ASSERT_EQ(view.copy_times().size(), 8u);
    EXPECT_EQ(view.header().time_launches, 1u);
    EXPECT_EQ(view.header().measure_overhead, 0u);
    add_single(view.copy_times()[3], 700);
    add_single(view.copy_times()[3], 900);
    const auto sums = read_times(view.copy_times()[3]);
    ASSERT_TRUE(sums);
    EXPECT_EQ(sums->single_launches, 2u);
    EXPECT_EQ(sums->single_ns, 1600u);
    EXPECT_EQ(sums->pairs, 0u);
}

TEST(CopyTimes, OfAWriterThatStoppedHalfWayThereAreNone) {
    egpu_copy_times times{};
    times.sequence = 7;
    EXPECT_FALSE(read_times(times));
    add_pair(times, {1, 2, 0.5});
    EXPECT_TRUE(read_times(times)) << "the next writer leaves them whole";
}

TEST(CopyTimes, AReaderNeverSeesHalfAPair) {
    egpu_copy_times times{};
    std::atomic<bool> stop = false;
    std::thread writer([&] {
        while (!stop)
            add_pair(times, {10, 20, 0.5});
    });
    std::uint64_t read = 0, last = 0;
    while (read < 20'000 || last < 1000) {
        const auto sums = read_times(times);
        if (!sums)
            continue;
        ++read;
        ASSERT_EQ(sums->original_ns, sums->pairs * 10);
        ASSERT_EQ(sums->instrumented_ns, sums->pairs * 20);
        ASSERT_EQ(sums->log_ratio, static_cast<double>(sums->pairs) * 0.5);
        ASSERT_GE(sums->pairs, last);
        last = sums->pairs;
    }
    stop = true;
    writer.join();
}

}  // namespace
}  // namespace egpu::segment
