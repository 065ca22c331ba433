// SPDX-License-Identifier: Apache-2.0
#include "segment/access/record_ring.hpp"

#include <cstring>

#include "segment/access/shared.hpp"

namespace egpu::segment {

RecordWriter::RecordWriter(const RecordRingView& ring) : ring_(ring), position_(load_relaxed(ring.control->written)) {}

std::uint64_t RecordWriter::room() const {
    const std::uint64_t read = load_acquire(ring_.control->read), size = ring_.data.size();
    return read > position_ || position_ - read > size ? 0 : size - (position_ - read);
}

std::span<std::byte> RecordWriter::next(std::uint64_t bytes) const {
    const std::uint64_t at = position_ % ring_.data.size(), behind = ring_.data.size() - at;
    return ring_.data.subspan(at, bytes < behind ? bytes : behind);
}

void RecordWriter::publish() {
    store_release(ring_.control->written, position_);
}

void copy_from_ring(const RecordRingView& ring, std::uint64_t position, std::span<std::byte> to) {
    const std::uint64_t at = position % ring.data.size(), behind = ring.data.size() - at;
    const std::size_t first = to.size() < behind ? to.size() : behind;
    std::memcpy(to.data(), ring.data.data() + at, first);
    std::memcpy(to.data() + first, ring.data.data(), to.size() - first);
}

}  // namespace egpu::segment
