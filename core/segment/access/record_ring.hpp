// SPDX-License-Identifier: Apache-2.0
// Records of a ring buffer between the agent, which writes, and the egpu process, which reads. Whatever their
// positions say, nothing outside the ring is touched. Nobody waits: what finds no room stays on the GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "segment/access/view.hpp"

namespace egpu::segment {

class RecordWriter {
public:
    RecordWriter() = default;
    explicit RecordWriter(const RecordRingView& ring);

    /// Bytes that fit; 0 where the reader's position makes no sense.
    std::uint64_t room() const;
    /// Where the next of `bytes` go, as far as they lie side by side; `bytes` is at most room().
    std::span<std::byte> next(std::uint64_t bytes) const;
    /// So many were put there; they are not published yet.
    void advance(std::uint64_t bytes) { position_ += bytes; }
    void publish();

private:
    RecordRingView ring_;
    std::uint64_t position_ = 0;
};

/// Bytes from `position` on, into `to`; across the end of the ring.
void copy_from_ring(const RecordRingView& ring, std::uint64_t position, std::span<std::byte> to);

}  // namespace egpu::segment
