// SPDX-License-Identifier: Apache-2.0
// Messages over a ring: a header (messages.h), a body, padding to 8 bytes. A message may be larger than the ring: it
// is streamed. The two classes are used by one thread each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "segment/channel/messages.h"
#include "segment/channel/ring.hpp"

namespace egpu::segment {

/// The largest body: an image of at most 1 GiB and what stands before it.
inline constexpr std::uint64_t kLargestBody = (std::uint64_t{1} << 30) + (std::uint64_t{1} << 20);

class MessageSender {
public:
    MessageSender() = default;
    explicit MessageSender(const RingView& ring) : ring_(ring) {}

    /// Sends one message whose body is the parts, one after the other (no padding between them). timed_out: nothing
    /// was sent (so also where the body is over kLargestBody). Once a message has begun, a time-out breaks the channel:
    /// half a message can't be taken back.
    ChannelState send(std::uint32_t type, std::uint32_t request, std::span<const std::span<const std::byte>> parts,
                      const Patience& patience);
    bool broken() const { return ring_.broken(); }

private:
    RingWriter ring_;
};

class MessageReceiver {
public:
    MessageReceiver() = default;
    explicit MessageReceiver(const RingView& ring) : ring_(ring) {}

    /// Waits for the next message; what was left unread of the one before is skipped. After timed_out it may be called
    /// again.
    ChannelState receive(egpu_message* header, const Patience& patience);
    /// The next bytes of the body. Asking for more than `body_left` breaks the channel: the sender said less.
    ChannelState read(std::span<std::byte> bytes, const Patience& patience);
    ChannelState skip(std::uint64_t bytes, const Patience& patience);
    /// Unread bytes of the current body.
    std::uint64_t body_left() const { return body_left_; }
    /// Says that a message made no sense.
    void give_up() { ring_.give_up(); }
    bool broken() const { return ring_.broken(); }

private:
    RingReader ring_;
    egpu_message header_{};
    std::size_t header_got_ = 0;
    std::uint64_t body_left_ = 0;
    std::uint64_t padding_left_ = 0;
};

/// A fixed struct as bytes to send, or to receive into.
template <typename T>
std::span<const std::byte> bytes_of(const T& value) {
    return std::as_bytes(std::span<const T, 1>(&value, 1));
}
template <typename T>
std::span<std::byte> writable_bytes_of(T& value) {
    return std::as_writable_bytes(std::span<T, 1>(&value, 1));
}

}  // namespace egpu::segment
