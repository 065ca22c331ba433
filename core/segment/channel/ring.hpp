// SPDX-License-Identifier: Apache-2.0
// A byte ring between two processes: one writer, one reader, positions that only grow. Each side trusts its own
// position, which it keeps to itself, and checks the other's: one that can't be means that the memory was damaged, and
// the ring is broken from then on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "segment/access/view.hpp"

namespace egpu::segment {

enum class ChannelState {
    ok,
    timed_out,  ///< nothing moved for as long as the caller had patience
    broken,     ///< damaged, or given up in the middle of a message: for good
};

/// How long to wait for the other side: at most `timeout_ms` without progress, and only while `worth_waiting` (asked
/// every 100 ms at most; none: always) says so.
struct Patience {
    std::uint32_t timeout_ms = 0;
    bool (*worth_waiting)(void* context) = nullptr;
    void* context = nullptr;
};

class RingWriter {
public:
    RingWriter() = default;
    explicit RingWriter(const RingView& ring);

    /// Writes all bytes, in pieces where they don't fit at once; `*written` is how many went out before a time-out.
    ChannelState write(std::span<const std::byte> bytes, const Patience& patience, std::size_t* written);
    bool broken() const { return broken_; }
    void give_up() { broken_ = true; }

private:
    std::uint64_t space();
    void copy_in(std::span<const std::byte> bytes);

    RingView ring_;
    std::uint64_t position_ = 0;
    bool broken_ = true;
};

class RingReader {
public:
    RingReader() = default;
    explicit RingReader(const RingView& ring);

    /// Reads all of `bytes`; `*got` is how many came before a time-out.
    ChannelState read(std::span<std::byte> bytes, const Patience& patience, std::size_t* got);
    /// Reads and forgets.
    ChannelState skip(std::uint64_t bytes, const Patience& patience, std::uint64_t* skipped);
    bool broken() const { return broken_; }
    void give_up() { broken_ = true; }

private:
    std::uint64_t available();
    ChannelState wait_for_bytes(const Patience& patience, std::uint64_t* ready);
    void copy_out(std::span<std::byte> bytes);
    void advance(std::uint64_t bytes);

    RingView ring_;
    std::uint64_t position_ = 0;
    bool broken_ = true;
};

}  // namespace egpu::segment
