// SPDX-License-Identifier: Apache-2.0
// Records from the segment: taken once, read along, too fast, damaged; lines that are printed.
#include <gmock/gmock.h>

#include <atomic>
#include <cstring>
#include <thread>

#include <fmt/format.h>

#include "../segment/memory_segment.hpp"
#include "ebpf/helpers/print_record.hpp"
#include "host/records/print_lines.hpp"
#include "host/records/pump.hpp"
#include "host/records/reader.hpp"
#include "maps/layout/ring_buffer.hpp"
#include "segment/access/record_ring.hpp"
#include "segment/access/shared.hpp"

namespace egpu::host {
namespace {

using Got = RecordReader::Got;
using maps::RingBuffer;

/// A ring in plain memory, with an agent's side.
struct Ring {
    static constexpr std::size_t kBytes = 4096;
    alignas(8) std::array<std::byte, kBytes> data{};
    egpu_record_ring control{};
    segment::RecordRingView view() { return {&control, data}; }

    /// False where there is no room.
    bool put(std::span<const std::byte> bytes) {
        segment::RecordWriter writer(view());
        if (writer.room() < bytes.size())
            return false;
        while (!bytes.empty()) {
            const auto to = writer.next(bytes.size());
            std::memcpy(to.data(), bytes.data(), to.size());
            writer.advance(to.size());
            bytes = bytes.subspan(to.size());
        }
        writer.publish();
        return true;
    }
    bool send(std::uint32_t payload, unsigned content, std::uint32_t flag = 0) {
        std::vector<std::byte> record(RingBuffer::record_bytes(payload), static_cast<std::byte>(content));
        const std::uint32_t head[] = {payload | flag, 0};
        std::memcpy(record.data(), head, sizeof head);
        return put(record);
    }
};

std::string text_of(const std::vector<std::byte>& record) {
    return record.empty() ? "-" : fmt::format("{}x{}", record.size(), std::to_integer<unsigned>(record[0]));
}

TEST(Records, ComeInOrderAcrossTheEndOfTheRing) {
    Ring ring;
    RecordReader reader(ring.view(), RecordReader::From::what_is_not_taken);
    std::vector<std::byte> record;
    EXPECT_EQ(reader.next(&record), Got::nothing);
    for (unsigned turn = 0; turn < 300; ++turn) {
        const std::uint32_t payload = 1 + turn * 7 % 500;
        ASSERT_TRUE(ring.send(payload, turn % 256));
        ASSERT_TRUE(ring.send(16, 0, RingBuffer::kFiller)) << "what fills a chunk up is no record";
        ASSERT_EQ(reader.next(&record), Got::record);
        EXPECT_EQ(text_of(record), fmt::format("{}x{}", payload, turn % 256));
        EXPECT_EQ(reader.next(&record), Got::nothing);
        ring.control.read = reader.position();
    }
}

TEST(Records, AreCountedWithoutBeingRead) {
    Ring ring;
    RecordReader reader(ring.view(), RecordReader::From::what_is_not_taken);
    bool damaged = false;
    for (unsigned turn = 0; turn < 100; ++turn) {
        for (unsigned i = 0; i < 5; ++i)
            ASSERT_TRUE(ring.send(1 + (turn * 13 + i) % 300, i));
        ASSERT_TRUE(ring.send(24, 0, RingBuffer::kFiller));
        EXPECT_EQ(reader.skip(3, &damaged), 3u);
        EXPECT_EQ(reader.skip(100, &damaged), 2u);
        EXPECT_FALSE(damaged);
        EXPECT_EQ(reader.position(), ring.control.written);
        ring.control.read = reader.position();
    }
    ASSERT_TRUE(ring.send(8, 1));
    const std::uint32_t head = 600;
    std::memcpy(ring.data.data() + reader.position() % Ring::kBytes, &head, sizeof head);
    EXPECT_EQ(reader.skip(100, &damaged), 0u);
    EXPECT_TRUE(damaged);
}

/// Two rings, one of which fills all the time: the other has its turns.
TEST(Records, NoRingKeepsTheOthersWaiting) {
    segment::SegmentRequest request = segment::small_request();
    for (const char* name : {"probe/busy", "probe/other"}) {
        segment::MapDescription map;
        map.name = name;
        map.value_bytes = RingBuffer::kUnit;
        map.capacity = 4096 / RingBuffer::kUnit + 1;
        map.is_array = true;
        map.ring_bytes = 4096;
        request.maps.push_back(map);
    }
    segment::MemorySegment memory(request);
    segment::View view;
    ASSERT_EQ(segment::View::open(memory.base(), memory.bytes(), 0, &view), segment::AccessError::none);
    const auto busy = static_cast<std::uint32_t>(request.maps.size() - 2), other = busy + 1;
    ASSERT_EQ(view.record_ring(busy).data.size(), 4096u);
    std::atomic<bool> done{false};
    std::thread writer([&] {
        const std::array<std::uint32_t, 4> record{8, 0, 1, 2};
        segment::RecordWriter to(view.record_ring(busy));
        while (!done)
            for (auto bytes = std::as_bytes(std::span(record)); to.room() >= sizeof record;) {
                std::memcpy(to.next(sizeof record).data(), bytes.data(), sizeof record);
                to.advance(sizeof record);
                to.publish();
            }
    });
    std::atomic<std::uint64_t> taken{0};
    RecordPump pump(view, {[&](std::uint32_t map) { return map == other; },
                           [&](std::uint32_t, std::span<const std::byte>) { ++taken; }});
    segment::RecordWriter to(view.record_ring(other));
    constexpr std::uint64_t kRecords = 2000;
    const std::array<std::uint32_t, 4> record{8, 0, 3, 4};
    for (std::uint64_t sent = 0; sent < kRecords;) {
        if (to.room() < sizeof record) {
            std::this_thread::yield();
            continue;
        }
        std::memcpy(to.next(sizeof record).data(), record.data(), sizeof record);
        to.advance(sizeof record);
        to.publish();
        ++sent;
    }
    done = true;
    writer.join();
    pump.stop();
    EXPECT_EQ(taken, kRecords);
    EXPECT_EQ(view.record_ring(other).control->records, kRecords);
    EXPECT_EQ(view.record_ring(busy).control->read, view.record_ring(busy).control->written);
}

TEST(Records, StayOnTheGpuWhereThereIsNoRoom) {
    Ring ring;
    for (int i = 0; i < 8; ++i)
        ASSERT_TRUE(ring.send(504, 1));
    EXPECT_FALSE(ring.send(1, 2));
    ring.control.read = 512;
    EXPECT_TRUE(ring.send(504, 2));
    ring.control.read = 1u << 20;  // a reader that makes no sense
    EXPECT_FALSE(ring.send(1, 3));
}

TEST(Records, WhoReadsAlongIsToldWhatWentByTooFast) {
    Ring ring;
    RecordReader along(ring.view(), RecordReader::From::now);
    std::vector<std::byte> record;
    ASSERT_TRUE(ring.send(8, 1));
    EXPECT_EQ(along.next(&record), Got::record);
    for (int i = 0; i < 20; ++i) {
        ring.control.read = ring.control.written;
        ASSERT_TRUE(ring.send(504, 2));
    }
    EXPECT_EQ(along.next(&record), Got::nothing);
    EXPECT_EQ(along.missed_bytes(), 20u * 512);
    ASSERT_TRUE((ring.control.read = ring.control.written, ring.send(8, 3)));
    EXPECT_EQ(along.next(&record), Got::record);
    EXPECT_EQ(text_of(record), "8x3");
}

TEST(Records, FromTheFirstWhereAllAreThere) {
    Ring ring;
    ASSERT_TRUE(ring.send(8, 1));
    ASSERT_TRUE(ring.send(8, 2));
    ring.control.read = ring.control.written;
    std::vector<std::byte> record;
    RecordReader all(ring.view(), RecordReader::From::all);
    EXPECT_EQ(all.next(&record), Got::record);
    EXPECT_EQ(text_of(record), "8x1");
    RecordReader now(ring.view(), RecordReader::From::now);
    EXPECT_EQ(now.next(&record), Got::nothing);
}

TEST(Records, WhatIsNoneIsFoundOut) {
    for (const std::uint32_t head : {513u, 0x7fffffffu, 0xffffffffu, 0x80000ff0u}) {
        Ring ring;
        RecordReader reader(ring.view(), RecordReader::From::what_is_not_taken);
        ASSERT_TRUE(ring.send(8, 1));
        std::memcpy(ring.data.data(), &head, sizeof head);
        std::vector<std::byte> record;
        EXPECT_EQ(reader.next(&record), Got::damaged) << head;
    }
    for (const std::uint64_t written : {std::uint64_t{4}, std::uint64_t{4097}, ~std::uint64_t{0}}) {
        Ring ring;
        RecordReader reader(ring.view(), RecordReader::From::what_is_not_taken);
        ring.control.written = written;
        std::vector<std::byte> record;
        EXPECT_EQ(reader.next(&record), Got::damaged) << written;
    }
}

/// A writer that never waits, a reader that takes, one that reads along: all records of a number each, in order.
TEST(Records, ReadWhileTheyAreWritten) {
    Ring ring;
    std::atomic<bool> done{false};
    constexpr unsigned kRecords = 20'000;
    std::thread writer([&] {
        for (unsigned i = 0; i < kRecords;) {
            std::array<std::byte, 24> record{};
            const std::uint32_t head[] = {16, 0};
            const std::uint64_t words[] = {i, ~std::uint64_t{i}};
            std::memcpy(record.data(), head, sizeof head);
            std::memcpy(record.data() + 8, words, sizeof words);
            if (ring.put(record))
                ++i;
            else
                std::this_thread::yield();
        }
        done = true;
    });
    RecordReader reader(ring.view(), RecordReader::From::what_is_not_taken);
    std::vector<std::byte> record;
    for (std::uint64_t expected = 0; expected < kRecords;) {
        const Got got = reader.next(&record);
        ASSERT_NE(got, Got::damaged);
        if (got == Got::nothing)
            continue;
        std::uint64_t words[2];
        std::memcpy(words, record.data(), sizeof words);
        ASSERT_EQ(words[0], expected);
        ASSERT_EQ(words[1], ~expected);
        ++expected;
        segment::store_release(ring.control.read, reader.position());
    }
    writer.join();
}

// ---- lines ---------------------------------------------------------------------------------------------------------

Catalogue with_lines() {
    Catalogue catalogue;
    Map map;
    map.name = "hello/bpf_printk";
    map.definition.type = ebpf::MapType::ringbuf;
    map.definition.formats = {{16, "sector %d of %lu\n"}};
    catalogue.maps.push_back(map);
    Kernel kernel;
    kernel.id = 1;
    kernel.name = "vecadd";
    catalogue.kernels.push_back(kernel);
    return catalogue;
}

std::vector<std::byte> line(std::uint32_t text, std::uint32_t kernel, std::vector<std::uint64_t> numbers) {
    ebpf::PrintRecord head;
    head.text = text;
    head.kernel = kernel;
    head.block[0] = 3;
    head.thread[1] = 2;
    std::vector<std::byte> record(ebpf::print_record_bytes(static_cast<std::uint32_t>(numbers.size())));
    std::memcpy(record.data(), &head, sizeof head);
    std::memcpy(record.data() + sizeof head, numbers.data(), numbers.size() * 8);
    return record;
}

TEST(Lines, SayWhereAndWhat) {
    const Catalogue catalogue = with_lines();
    const auto& map = catalogue.maps[0].definition;
    EXPECT_EQ(printed_line(map, line(16, 1, {~std::uint64_t{0}, 7}), catalogue),
              "vecadd, block 3, thread 0,2: sector -1 of 7");
    EXPECT_EQ(printed_line(map, line(16, 9, {4}), catalogue), "kernel 9, block 3, thread 0,2: sector 4 of ?");
    EXPECT_EQ(printed_line(map, line(17, 1, {4}), catalogue), "") << "a text that is not known";
    EXPECT_EQ(printed_line(map, std::vector<std::byte>(13), catalogue), "") << "too short";
}

TEST(Lines, AreSoManyASecond) {
    std::vector<std::string> printed;
    int asked = 0;
    PrintLines lines([&] { return ++asked, with_lines(); }, [&](const std::string& text) { printed.push_back(text); });
    const auto start = PrintLines::Clock::now();
    const auto record = line(16, 1, {1, 2});
    for (unsigned i = 0; i < PrintLines::kMostASecond + 50; ++i)
        lines.take(0, record, start + std::chrono::milliseconds(i));
    EXPECT_EQ(printed.size(), PrintLines::kMostASecond);
    EXPECT_EQ(asked, 1) << "the catalogue is asked for what is not known yet";
    lines.take(0, record, start + std::chrono::milliseconds(1200));
    ASSERT_EQ(printed.size(), PrintLines::kMostASecond + 2);
    EXPECT_THAT(printed[PrintLines::kMostASecond], testing::HasSubstr("50 more lines"));
    lines.finish();
    EXPECT_EQ(printed.size(), PrintLines::kMostASecond + 2) << "nothing more was left out";
    lines.take(7, record, start);
    EXPECT_EQ(printed.size(), PrintLines::kMostASecond + 2) << "a ring that is none of lines";
}

}  // namespace
}  // namespace egpu::host
