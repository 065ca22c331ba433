// SPDX-License-Identifier: Apache-2.0
#include "segment/channel/ring.hpp"

#include <cstring>

#include "segment/access/shared.hpp"

namespace egpu::segment {

namespace {

constexpr std::uint64_t kMillisecond = 1'000'000;
constexpr std::uint64_t kSlice = 100 * kMillisecond;

// One wait for progress: sleeps in slices on `word` while it is `seen`. False when patience is at an end.
bool sleep_once(const Patience& patience, std::uint64_t deadline, const std::uint32_t& word, std::uint32_t seen) {
    const std::uint64_t now = monotonic_ns();
    if (now >= deadline || (patience.worth_waiting != nullptr && !patience.worth_waiting(patience.context)))
        return false;
    futex_wait(word, seen, deadline - now < kSlice ? deadline - now : kSlice);
    return true;
}

std::uint64_t deadline_of(const Patience& patience) {
    return monotonic_ns() + patience.timeout_ms * kMillisecond;
}

std::uint64_t smaller(std::uint64_t a, std::uint64_t b) {
    return a < b ? a : b;
}

}  // namespace

RingWriter::RingWriter(const RingView& ring)
    : ring_(ring), position_(load_relaxed(ring.control->written)), broken_(ring.data.empty()) {
    space();
}

std::uint64_t RingWriter::space() {
    if (broken_)
        return 0;
    const std::uint64_t read = load_acquire(ring_.control->read);
    if (read > position_ || position_ - read > ring_.data.size()) {
        broken_ = true;
        return 0;
    }
    return ring_.data.size() - (position_ - read);
}

void RingWriter::copy_in(std::span<const std::byte> bytes) {
    const std::uint64_t at = position_ % ring_.data.size();
    const std::uint64_t first = smaller(bytes.size(), ring_.data.size() - at);
    std::memcpy(ring_.data.data() + at, bytes.data(), first);
    std::memcpy(ring_.data.data(), bytes.data() + first, bytes.size() - first);
    position_ += bytes.size();
    store_release(ring_.control->written, position_);
    add_relaxed(ring_.control->wake_consumer, std::uint32_t{1});
    futex_wake(ring_.control->wake_consumer);
}

ChannelState RingWriter::write(std::span<const std::byte> bytes, const Patience& patience, std::size_t* written) {
    *written = 0;
    std::uint64_t deadline = deadline_of(patience);
    while (*written < bytes.size()) {
        const std::uint32_t seen = broken_ ? 0 : load_acquire(ring_.control->wake_producer);
        const std::uint64_t room = space();
        if (broken_)
            return ChannelState::broken;
        if (room != 0) {
            const std::uint64_t piece = smaller(room, bytes.size() - *written);
            copy_in(bytes.subspan(*written, piece));
            *written += piece;
            deadline = deadline_of(patience);
        } else if (!sleep_once(patience, deadline, ring_.control->wake_producer, seen)) {
            return ChannelState::timed_out;
        }
    }
    return broken_ ? ChannelState::broken : ChannelState::ok;
}

RingReader::RingReader(const RingView& ring)
    : ring_(ring), position_(load_relaxed(ring.control->read)), broken_(ring.data.empty()) {
    available();
}

std::uint64_t RingReader::available() {
    if (broken_)
        return 0;
    const std::uint64_t written = load_acquire(ring_.control->written);
    if (written < position_ || written - position_ > ring_.data.size()) {
        broken_ = true;
        return 0;
    }
    return written - position_;
}

ChannelState RingReader::wait_for_bytes(const Patience& patience, std::uint64_t* ready) {
    const std::uint64_t deadline = deadline_of(patience);
    for (;;) {
        const std::uint32_t seen = broken_ ? 0 : load_acquire(ring_.control->wake_consumer);
        *ready = available();
        if (broken_)
            return ChannelState::broken;
        if (*ready != 0)
            return ChannelState::ok;
        if (!sleep_once(patience, deadline, ring_.control->wake_consumer, seen))
            return ChannelState::timed_out;
    }
}

void RingReader::copy_out(std::span<std::byte> bytes) {
    const std::uint64_t at = position_ % ring_.data.size();
    const std::uint64_t first = smaller(bytes.size(), ring_.data.size() - at);
    std::memcpy(bytes.data(), ring_.data.data() + at, first);
    std::memcpy(bytes.data() + first, ring_.data.data(), bytes.size() - first);
}

void RingReader::advance(std::uint64_t bytes) {
    position_ += bytes;
    store_release(ring_.control->read, position_);
    add_relaxed(ring_.control->wake_producer, std::uint32_t{1});
    futex_wake(ring_.control->wake_producer);
}

ChannelState RingReader::read(std::span<std::byte> bytes, const Patience& patience, std::size_t* got) {
    *got = 0;
    while (*got < bytes.size()) {
        std::uint64_t ready = 0;
        const ChannelState state = wait_for_bytes(patience, &ready);
        if (state != ChannelState::ok)
            return state;
        const std::uint64_t piece = smaller(ready, bytes.size() - *got);
        copy_out(bytes.subspan(*got, piece));
        advance(piece);
        *got += piece;
    }
    return broken_ ? ChannelState::broken : ChannelState::ok;
}

ChannelState RingReader::skip(std::uint64_t bytes, const Patience& patience, std::uint64_t* skipped) {
    *skipped = 0;
    while (*skipped < bytes) {
        std::uint64_t ready = 0;
        const ChannelState state = wait_for_bytes(patience, &ready);
        if (state != ChannelState::ok)
            return state;
        const std::uint64_t piece = smaller(ready, bytes - *skipped);
        advance(piece);
        *skipped += piece;
    }
    return broken_ ? ChannelState::broken : ChannelState::ok;
}

}  // namespace egpu::segment
