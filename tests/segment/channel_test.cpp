// SPDX-License-Identifier: Apache-2.0
// Messages over the rings: larger than the ring, slow and dead partners, damaged positions.
#include "segment/channel/channel.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "memory_segment.hpp"
#include "segment/access/shared.hpp"
#include "segment/layout/build_id.h"

namespace egpu::segment {
namespace {

struct Channel {
    MemorySegment memory;
    View view;
    Channel() {
        EXPECT_EQ(View::open(memory.base(), memory.bytes(), egpu_segment_build_id(), &view), AccessError::none);
    }
};

std::vector<std::byte> pattern(std::size_t bytes) {
    std::vector<std::byte> data(bytes);
    for (std::size_t i = 0; i < bytes; ++i)
        data[i] = static_cast<std::byte>(i * 7 + i / 251);
    return data;
}

ChannelState send(MessageSender& sender, std::uint32_t type, std::uint32_t request, std::span<const std::byte> body,
                  const Patience& patience) {
    const std::span<const std::byte> parts[] = {body};
    return sender.send(type, request, parts, patience);
}

TEST(Channel, SmallAndOddSizesComeThroughInOrder) {
    Channel channel;
    MessageSender sender(channel.view.to_host());
    MessageReceiver receiver(channel.view.to_host());
    for (std::uint32_t size = 0; size < 300; ++size) {
        const auto body = pattern(size);
        ASSERT_EQ(send(sender, EGPU_MESSAGE_IMAGE, size, body, {100}), ChannelState::ok);
        egpu_message header{};
        ASSERT_EQ(receiver.receive(&header, {100}), ChannelState::ok);
        EXPECT_EQ(header.request, size);
        ASSERT_EQ(header.bytes, size);
        std::vector<std::byte> got(size);
        ASSERT_EQ(receiver.read(got, {100}), ChannelState::ok);
        ASSERT_EQ(got, body);
    }
}

TEST(Channel, AMessageLargerThanTheRingIsStreamed) {
    Channel channel;
    const auto first = pattern(300'001), second = pattern(77);
    std::thread writer([&] {
        MessageSender sender(channel.view.to_host());
        const std::span<const std::byte> parts[] = {first, second};
        EXPECT_EQ(sender.send(EGPU_MESSAGE_IMAGE, 5, parts, {5000}), ChannelState::ok);
        EXPECT_EQ(send(sender, EGPU_MESSAGE_DEVICE, 6, second, {5000}), ChannelState::ok);
    });
    MessageReceiver receiver(channel.view.to_host());
    egpu_message header{};
    ASSERT_EQ(receiver.receive(&header, {5000}), ChannelState::ok);
    ASSERT_EQ(header.bytes, first.size() + second.size());
    std::vector<std::byte> got(first.size());
    ASSERT_EQ(receiver.read(got, {5000}), ChannelState::ok);
    EXPECT_EQ(got, first);
    EXPECT_EQ(receiver.body_left(), second.size());
    // The rest is skipped by the next receive.
    ASSERT_EQ(receiver.receive(&header, {5000}), ChannelState::ok);
    EXPECT_EQ(header.type, static_cast<std::uint32_t>(EGPU_MESSAGE_DEVICE));
    writer.join();
}

TEST(Channel, NobodyThereIsATimeOutAndCanBeTriedAgain) {
    Channel channel;
    MessageReceiver receiver(channel.view.to_agent());
    egpu_message header{};
    const std::uint64_t before = monotonic_ns();
    EXPECT_EQ(receiver.receive(&header, {30}), ChannelState::timed_out);
    EXPECT_GE(monotonic_ns() - before, 29'000'000u);
    MessageSender sender(channel.view.to_agent());
    EXPECT_EQ(send(sender, EGPU_MESSAGE_END_OF_COPIES, 1, {}, {0}), ChannelState::ok);
    EXPECT_EQ(receiver.receive(&header, {30}), ChannelState::ok);
}

TEST(Channel, ADeadPartnerEndsTheWait) {
    Channel channel;
    MessageReceiver receiver(channel.view.to_agent());
    egpu_message header{};
    const Patience patience{60'000, [](void*) { return false; }, nullptr};
    const std::uint64_t before = monotonic_ns();
    EXPECT_EQ(receiver.receive(&header, patience), ChannelState::timed_out);
    EXPECT_LT(monotonic_ns() - before, 1'000'000'000u);
}

TEST(Channel, ATimeOutBeforeAMessageIsHarmlessInTheMiddleItBreaks) {
    Channel channel;
    MessageSender sender(channel.view.to_host());
    const auto fits = pattern(4096 - 16);
    ASSERT_EQ(send(sender, EGPU_MESSAGE_IMAGE, 1, fits, {0}), ChannelState::ok) << "fills the ring to the last byte";
    EXPECT_EQ(send(sender, EGPU_MESSAGE_IMAGE, 2, fits, {10}), ChannelState::timed_out);
    EXPECT_FALSE(sender.broken());
    MessageReceiver receiver(channel.view.to_host());
    egpu_message header{};
    ASSERT_EQ(receiver.receive(&header, {10}), ChannelState::ok);
    EXPECT_EQ(send(sender, EGPU_MESSAGE_IMAGE, 3, fits, {10}), ChannelState::broken) << "only the header fitted";
    EXPECT_EQ(send(sender, EGPU_MESSAGE_IMAGE, 4, {}, {10}), ChannelState::broken) << "for good";
}

TEST(Channel, NonsensePositionsBreakIt) {
    for (const std::uint64_t nonsense : {std::uint64_t{4097}, ~std::uint64_t{0}, std::uint64_t{1} << 40}) {
        Channel channel;
        MessageReceiver receiver(channel.view.to_host());
        MessageSender sender(channel.view.to_host());
        ASSERT_EQ(send(sender, EGPU_MESSAGE_IMAGE, 1, pattern(64), {10}), ChannelState::ok);
        channel.view.to_host().control->written = nonsense;
        egpu_message header{};
        EXPECT_EQ(receiver.receive(&header, {10}), ChannelState::broken);
        channel.view.to_host().control->read = nonsense;
        EXPECT_EQ(send(sender, EGPU_MESSAGE_IMAGE, 1, pattern(64), {10}), ChannelState::broken);
    }
}

TEST(Channel, NonsenseSizesBreakIt) {
    Channel channel;
    MessageReceiver receiver(channel.view.to_host());
    RingWriter writer(channel.view.to_host());
    const egpu_message lie{EGPU_MESSAGE_IMAGE, 1, ~std::uint64_t{0}};
    std::size_t written = 0;
    ASSERT_EQ(writer.write(bytes_of(lie), {10}, &written), ChannelState::ok);
    egpu_message header{};
    EXPECT_EQ(receiver.receive(&header, {10}), ChannelState::broken);
}

TEST(Channel, ReadingMoreThanTheBodyBreaksIt) {
    Channel channel;
    MessageReceiver receiver(channel.view.to_host());
    MessageSender sender(channel.view.to_host());
    ASSERT_EQ(send(sender, EGPU_MESSAGE_IMAGE, 1, pattern(8), {10}), ChannelState::ok);
    egpu_message header{};
    ASSERT_EQ(receiver.receive(&header, {10}), ChannelState::ok);
    std::vector<std::byte> too_much(9);
    EXPECT_EQ(receiver.read(too_much, {10}), ChannelState::broken);
}

TEST(Channel, TwoThreadsManyMessages) {
    Channel channel;
    constexpr std::uint32_t kMessages = 3000;
    std::thread writer([&] {
        MessageSender sender(channel.view.to_host());
        for (std::uint32_t i = 0; i < kMessages; ++i)
            ASSERT_EQ(send(sender, EGPU_MESSAGE_IMAGE, i, pattern((i * 37) % 9000), {5000}), ChannelState::ok);
    });
    MessageReceiver receiver(channel.view.to_host());
    for (std::uint32_t i = 0; i < kMessages; ++i) {
        egpu_message header{};
        ASSERT_EQ(receiver.receive(&header, {5000}), ChannelState::ok);
        ASSERT_EQ(header.request, i);
        std::vector<std::byte> got(header.bytes);
        ASSERT_EQ(receiver.read(got, {5000}), ChannelState::ok);
        ASSERT_EQ(got, pattern((i * 37) % 9000));
    }
    writer.join();
}

}  // namespace
}  // namespace egpu::segment
