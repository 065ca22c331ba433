// SPDX-License-Identifier: Apache-2.0
#include "segment/channel/channel.hpp"

namespace egpu::segment {

namespace {

constexpr std::byte kZeroes[8] = {};

std::uint64_t padding_of(std::uint64_t bytes) {
    return (8 - bytes % 8) % 8;
}

}  // namespace

ChannelState MessageSender::send(std::uint32_t type, std::uint32_t request,
                                 std::span<const std::span<const std::byte>> parts, const Patience& patience) {
    egpu_message header{type, request, 0};
    for (const auto& part : parts)
        header.bytes += part.size();
    if (header.bytes > kLargestBody)
        return ChannelState::timed_out;
    std::size_t written = 0;
    ChannelState state = ring_.write(bytes_of(header), patience, &written);
    if (state == ChannelState::timed_out && written == 0)
        return state;
    for (const auto& part : parts)
        if (state == ChannelState::ok)
            state = ring_.write(part, patience, &written);
    if (state == ChannelState::ok)
        state = ring_.write(std::span(kZeroes, padding_of(header.bytes)), patience, &written);
    if (state == ChannelState::ok)
        return state;
    ring_.give_up();
    return ChannelState::broken;
}

ChannelState MessageReceiver::receive(egpu_message* header, const Patience& patience) {
    std::uint64_t skipped = 0;
    ChannelState state = ring_.skip(body_left_ + padding_left_, patience, &skipped);
    const std::uint64_t of_body = skipped < body_left_ ? skipped : body_left_;
    body_left_ -= of_body;
    padding_left_ -= skipped - of_body;
    if (state != ChannelState::ok)
        return state;
    std::size_t got = 0;
    state = ring_.read(writable_bytes_of(header_).subspan(header_got_), patience, &got);
    header_got_ += got;
    if (state != ChannelState::ok)
        return state;
    header_got_ = 0;
    if (header_.bytes > kLargestBody) {
        ring_.give_up();
        return ChannelState::broken;
    }
    body_left_ = header_.bytes;
    padding_left_ = padding_of(header_.bytes);
    *header = header_;
    return ChannelState::ok;
}

ChannelState MessageReceiver::read(std::span<std::byte> bytes, const Patience& patience) {
    if (bytes.size() > body_left_)
        ring_.give_up();
    std::size_t got = 0;
    const ChannelState state = ring_.read(bytes, patience, &got);
    body_left_ -= got;
    if (state == ChannelState::timed_out && got != 0)
        ring_.give_up();  // the caller can't tell how far its buffer was filled
    return state == ChannelState::timed_out && ring_.broken() ? ChannelState::broken : state;
}

ChannelState MessageReceiver::skip(std::uint64_t bytes, const Patience& patience) {
    if (bytes > body_left_)
        ring_.give_up();
    std::uint64_t skipped = 0;
    const ChannelState state = ring_.skip(bytes, patience, &skipped);
    body_left_ -= skipped;
    return state;
}

}  // namespace egpu::segment
