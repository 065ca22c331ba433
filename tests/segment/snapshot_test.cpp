// SPDX-License-Identifier: Apache-2.0
// Double-buffered snapshots under a busy writer, and values merged over shards.
#include "maps/snapshot/snapshot.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <cstring>
#include <numeric>
#include <thread>
#include <vector>

#include "memory_segment.hpp"
#include "segment/access/snapshot_writer.hpp"
#include "segment/layout/build_id.h"
#include "segment/snapshots/snapshots.hpp"

namespace egpu::segment {
namespace {

struct Opened {
    MemorySegment memory;
    View view;
    Opened() {
        EXPECT_EQ(View::open(memory.base(), memory.bytes(), egpu_segment_build_id(), &view), AccessError::none);
    }
};

void fill(std::span<std::byte> bytes, std::uint64_t value) {
    for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8)
        __atomic_store_n(reinterpret_cast<std::uint64_t*>(bytes.data() + at), value, __ATOMIC_RELAXED);
}

TEST(Snapshot, NothingYetThenTheLast) {
    Opened opened;
    maps::Snapshot snapshot;
    EXPECT_EQ(copy_snapshot(opened.view, 0, &snapshot), maps::CopyResult::none_yet);
    SnapshotWriter writer = begin_snapshot(opened.view, 0);
    fill(writer.data, 7);
    EXPECT_EQ(copy_snapshot(opened.view, 0, &snapshot), maps::CopyResult::none_yet) << "not published yet";
    publish_snapshot(writer, 2, 1234);
    ASSERT_EQ(copy_snapshot(opened.view, 0, &snapshot), maps::CopyResult::copied);
    EXPECT_EQ(snapshot.slots, 2u);
    EXPECT_EQ(snapshot.taken_ns, 1234u);
    EXPECT_EQ(snapshot.bytes.size(), 2u * 16 * 3);
}

TEST(Snapshot, AWriterThatDiesHalfWayLosesNothing) {
    Opened opened;
    SnapshotWriter writer = begin_snapshot(opened.view, 0);
    fill(writer.data, 1);
    publish_snapshot(writer, 4, 10);
    writer = begin_snapshot(opened.view, 0);
    fill(writer.data, 2);  // and no more
    maps::Snapshot snapshot;
    ASSERT_EQ(copy_snapshot(opened.view, 0, &snapshot), maps::CopyResult::copied);
    EXPECT_EQ(static_cast<int>(snapshot.bytes[0]), 1);
    EXPECT_EQ(snapshot.taken_ns, 10u);
}

TEST(Snapshot, AReaderNeverSeesTwoMoments) {
    Opened opened;
    publish_snapshot(begin_snapshot(opened.view, 0), 4, 1);
    std::atomic<bool> stop{false};
    std::thread writer([&] {
        for (std::uint64_t value = 1; !stop; ++value) {
            const SnapshotWriter snapshot = begin_snapshot(opened.view, 0);
            fill(snapshot.data, value);
            publish_snapshot(snapshot, 4, value);
        }
    });
    maps::Snapshot snapshot;
    int copied = 0;
    for (int i = 0; i < 20000; ++i) {
        if (copy_snapshot(opened.view, 0, &snapshot) != maps::CopyResult::copied)
            continue;
        ++copied;
        std::uint64_t first, word;
        std::memcpy(&first, snapshot.bytes.data(), 8);
        for (std::size_t at = 8; at < snapshot.bytes.size(); at += 8) {
            std::memcpy(&word, snapshot.bytes.data() + at, 8);
            ASSERT_EQ(word, first) << "copy " << i;
        }
    }
    stop = true;
    writer.join();
    EXPECT_GT(copied, 0);
}

maps::Layout layout_of_bytes(std::uint32_t value_bytes, std::uint32_t capacity, std::uint32_t shards) {
    maps::Layout layout;
    layout.value_bytes = value_bytes;
    layout.stride = (value_bytes + 7) & ~7u;
    layout.capacity = capacity;
    layout.shards = shards;
    return layout;
}

TEST(Layout, ShardsOfOneChunk) {
    const maps::Layout layout = maps::make_layout(12, 9, true, 4);
    EXPECT_EQ(layout.shards, 4u);
    EXPECT_EQ(layout.chunks(), 1u);
    EXPECT_EQ(layout.shard_distance(), 1024u) << "9 slots of 16 bytes";
    EXPECT_EQ(layout.device_bytes(), 4 * 1024u);
    EXPECT_EQ(layout.device_offset_of(8, 4), 132u);
    EXPECT_EQ(layout.snapshot_bytes(2), 4 * 2 * 16u) << "a snapshot has no gaps";
    EXPECT_EQ(maps::make_layout(12, 9, false, 4).device_bytes(), 9 * 16u) << "one shard";
}

/// No two of all words that a map has share a place, and none is outside; every chunk is in reach of one `shr`.
void expect_distinct_places(const maps::Layout& layout) {
    ASSERT_TRUE(layout.chunks() <= 1 || std::has_single_bit(layout.chunk_slots()));
    std::vector<bool> taken(layout.device_bytes() / 8);
    for (std::uint32_t shard = 0; shard < layout.shards; ++shard)
        for (std::uint32_t slot = 0; slot < layout.capacity; ++slot)
            for (std::uint32_t byte = 0; byte < layout.stride; byte += 8) {
                const std::uint64_t at = layout.device_offset_of(slot, byte) + shard * layout.shard_distance();
                ASSERT_LE(at + 8, layout.device_bytes());
                ASSERT_FALSE(taken[at / 8]) << shard << " " << slot << " " << byte;
                taken[at / 8] = true;
            }
}

TEST(Layout, EverySlotHasAPlaceOfItsOwn) {
    for (const std::uint32_t value_bytes : {4u, 8u, 24u, 40u, 520u, 1024u, 1030u, 5000u})
        for (const std::uint32_t capacity : {1u, 3u, 42u, 43u, 128u, 129u, 300u})
            for (const std::uint32_t shards : {1u, 2u, 5u}) {
                SCOPED_TRACE(testing::Message() << value_bytes << " bytes, " << capacity << " slots, " << shards);
                expect_distinct_places(layout_of_bytes(value_bytes, capacity, shards));
                if (HasFatalFailure())
                    return;
            }
}

TEST(Layout, ManyShardsWhereMemoryAllows) {
    EXPECT_EQ(maps::make_layout(16, 4096, true, 128).shards, 128u) << "8 MiB: one an SM";
    EXPECT_EQ(maps::make_layout(16, 4096, true, 132).shards, 64u) << "else a power of two within 4 MiB";
    EXPECT_EQ(maps::make_layout(16, 0, true, 132).shards, 1u);
    EXPECT_EQ(maps::make_layout(16, 10, true, 0).shards, 1u);
    EXPECT_EQ(maps::make_layout(24, 4096, true, 128).shards, 32u);
    EXPECT_EQ(maps::make_layout(64, 1 << 20, true, 128).shards, 1u);
}

TEST(Merge, WordsAreSummedOverShards) {
    const maps::Layout layout = layout_of_bytes(16, 2, 3);
    std::vector<std::uint64_t> words(2 * 3 * 2);
    std::iota(words.begin(), words.end(), 1);
    std::uint64_t out[2] = {};
    ASSERT_TRUE(
        maps::merge_slot(std::as_bytes(std::span(words)), layout, 1, {}, std::as_writable_bytes(std::span(out))));
    EXPECT_EQ(out[0], 3u + 7 + 11);
    EXPECT_EQ(out[1], 4u + 8 + 12);
}

TEST(Merge, FieldsOfFourBytesWrapAlone) {
    const maps::Layout layout = layout_of_bytes(12, 1, 2);
    const std::uint32_t words[] = {1, 0xffffffff, 5, 0, 2, 3, 6, 0};
    const maps::FieldRange fields[] = {{0, 4}, {4, 4}};
    std::uint32_t out[3] = {};
    ASSERT_TRUE(
        maps::merge_slot(std::as_bytes(std::span(words)), layout, 0, fields, std::as_writable_bytes(std::span(out))));
    EXPECT_EQ(out[0], 3u);
    EXPECT_EQ(out[1], 2u) << "0xffffffff + 3, no carry into the next field";
    EXPECT_EQ(out[2], 5u) << "no field: from the first shard";
}

TEST(Merge, RefusesWhatDoesNotFit) {
    const maps::Layout layout = layout_of_bytes(12, 2, 2);
    std::vector<std::byte> snapshot(layout.snapshot_bytes(1)), out(12);
    EXPECT_FALSE(maps::merge_slot(snapshot, layout, 0, {}, out)) << "12 bytes, several shards, no fields";
    const maps::FieldRange good[] = {{0, 8}, {8, 4}};
    EXPECT_TRUE(maps::merge_slot(snapshot, layout, 0, good, out));
    EXPECT_FALSE(maps::merge_slot(snapshot, layout, 1, good, out)) << "the snapshot holds one slot";
    EXPECT_FALSE(maps::merge_slot(snapshot, layout, 0, good, std::span(out).first(11)));
    for (const maps::FieldRange bad :
         {maps::FieldRange{8, 8}, maps::FieldRange{12, 4}, maps::FieldRange{0, 2}, maps::FieldRange{0xfffffffc, 8}})
        EXPECT_FALSE(maps::merge_slot(snapshot, layout, 0, std::span(&bad, 1), out)) << bad.offset << " " << bad.size;
    const maps::Layout one = layout_of_bytes(12, 2, 1);
    EXPECT_TRUE(maps::merge_slot(snapshot, one, 1, {}, out)) << "one shard is copied, whatever its size";
}

}  // namespace
}  // namespace egpu::segment
