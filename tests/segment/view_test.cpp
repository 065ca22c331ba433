// SPDX-License-Identifier: Apache-2.0
// Opening segments, sound and damaged: every bit of header and map entries flipped, every length cut.
#include "segment/access/view.hpp"

#include <gtest/gtest.h>

#include "memory_segment.hpp"
#include "segment/access/process.hpp"
#include "segment/layout/build_id.h"
#include "segment/snapshots/snapshots.hpp"

namespace egpu::segment {
namespace {

AccessError open(MemorySegment& memory, View* view) {
    return View::open(memory.base(), memory.bytes(), egpu_segment_build_id(), view);
}

TEST(View, OpensWhatWasLaidOut) {
    MemorySegment memory;
    View view;
    ASSERT_EQ(open(memory, &view), AccessError::none);
    EXPECT_EQ(view.map_count(), 2u);
    EXPECT_EQ(view.map_name(0), "probe/hash");
    EXPECT_EQ(view.geometry(0).stride, 16u);
    EXPECT_EQ(view.snapshot(0, 1).size(), 16u * 4 * 3);
    EXPECT_EQ(view.keys(0).size(), 32u);
    EXPECT_EQ(view.geometry(1).stride, 16u) << "12 bytes rounded up to 8";
    EXPECT_TRUE(view.keys(1).empty());
    EXPECT_EQ(view.used_slots(0), 0u);
    EXPECT_EQ(view.used_slots(1), 2u) << "all slots of an array are in use";
    EXPECT_EQ(view.kernels().size(), 4u);
    EXPECT_EQ(view.header().host_pid, static_cast<std::uint32_t>(getpid()));
    EXPECT_TRUE(process_alive(view.header().host_pid, view.header().host_start_time));
}

TEST(View, PublishedCountsAreCutToTheCapacity) {
    MemorySegment memory;
    View view;
    ASSERT_EQ(open(memory, &view), AccessError::none);
    view.map(0).used_slots = 0xffffffff;
    EXPECT_EQ(view.used_slots(0), 4u);
    std::memset(view.map(0).name, 'x', sizeof(view.map(0).name));
    EXPECT_EQ(view.map_name(0).size(), 63u);
}

TEST(View, NamesWhatIsWrong) {
    View view;
    {
        MemorySegment memory;
        memory.header().magic = 0;
        EXPECT_EQ(open(memory, &view), AccessError::not_a_segment);
        EXPECT_FALSE(view);
    }
    {
        MemorySegment memory;
        ++memory.header().layout_version;
        EXPECT_EQ(open(memory, &view), AccessError::other_layout);
    }
    {
        MemorySegment memory;
        ++memory.header().build_id;
        EXPECT_EQ(open(memory, &view), AccessError::other_build);
        EXPECT_EQ(View::open(memory.base(), memory.bytes(), 0, &view), AccessError::none) << "0: any build";
    }
    {
        MemorySegment memory;
        ++memory.header().bytes;
        EXPECT_EQ(open(memory, &view), AccessError::too_short);
    }
    {
        MemorySegment memory;
        memory.header().maps.offset = memory.bytes() - 8;
        EXPECT_EQ(open(memory, &view), AccessError::corrupt);
    }
}

TEST(View, RefusesEachTruncation) {
    for (std::size_t cut : {std::size_t{1}, std::size_t{4096}, std::size_t{8192}}) {
        MemorySegment memory;
        View view;
        EXPECT_EQ(View::open(memory.base(), memory.bytes() - cut, egpu_segment_build_id(), &view),
                  AccessError::too_short);
    }
    MemorySegment memory;
    View view;
    for (std::size_t bytes = 0; bytes < sizeof(egpu_segment_header); ++bytes)
        EXPECT_EQ(View::open(memory.base(), bytes, egpu_segment_build_id(), &view), AccessError::too_short);
}

// A flipped bit is either found, or harmless: everything that the view hands out can still be touched.
void flip_each_bit(std::size_t begin, std::size_t end, int* refused) {
    for (std::size_t at = begin; at < end; ++at)
        for (int bit = 0; bit < 8; ++bit) {
            MemorySegment memory;
            memory.base()[at] ^= static_cast<std::byte>(1 << bit);
            View view;
            if (open(memory, &view) != AccessError::none) {
                ++*refused;
                continue;
            }
            touch_all(view);
            maps::Snapshot snapshot;
            for (std::uint32_t i = 0; i < view.map_count(); ++i)
                copy_snapshot(view, i, &snapshot);
        }
}

TEST(View, SurvivesEachFlippedBitOfTheHeader) {
    int refused = 0;
    flip_each_bit(0, sizeof(egpu_segment_header), &refused);
    EXPECT_GT(refused, 200) << "magic, versions, build id, sizes and high bits of offsets at least";
}

TEST(View, SurvivesEachFlippedBitOfTheMapEntries) {
    const MemorySegment memory;
    int refused = 0;
    const std::size_t begin = memory.geometry().maps.offset;
    flip_each_bit(begin, begin + memory.geometry().maps.bytes, &refused);
    EXPECT_GT(refused, 200);
}

TEST(View, DamageAfterOpeningNeverMovesASpan) {
    MemorySegment memory;
    View view;
    ASSERT_EQ(open(memory, &view), AccessError::none);
    std::memset(memory.base(), 0xff, memory.geometry().maps.offset + memory.geometry().maps.bytes);
    touch_all(view);
    maps::Snapshot snapshot;
    for (std::uint32_t i = 0; i < view.map_count(); ++i) {
        copy_snapshot(view, i, &snapshot);
        EXPECT_TRUE(key_of(view, i, 0xffffffff).empty());
    }
}

TEST(Process, StartTimesTellProcessesApart) {
    const auto own = static_cast<std::uint32_t>(getpid());
    const std::uint64_t start = process_start_time(own);
    EXPECT_NE(start, 0u);
    EXPECT_TRUE(process_alive(own, start));
    EXPECT_FALSE(process_alive(own, start + 1));
    EXPECT_FALSE(process_alive(0, 0));
    EXPECT_FALSE(process_alive(0x7fffffff, 1));
}

}  // namespace
}  // namespace egpu::segment
