// SPDX-License-Identifier: Apache-2.0
#include "host/records/reader.hpp"

#include <cstring>

#include "maps/layout/ring_buffer.hpp"
#include "segment/access/record_ring.hpp"
#include "segment/access/shared.hpp"

namespace egpu::host {

using maps::RingBuffer;
using segment::load_acquire;

RecordReader::RecordReader(const segment::RecordRingView& ring, From from)
    : ring_(ring),
      takes_(from == From::what_is_not_taken),
      position_(load_acquire(takes_ ? ring.control->read : ring.control->written)) {
    if (from == From::all && position_ <= ring.data.size())
        position_ = 0;
}

RecordReader::Got RecordReader::next(std::vector<std::byte>* record) {
    while (true) {
        const std::uint64_t written = load_acquire(ring_.control->written);
        const std::uint64_t size = ring_.data.size();
        if (!takes_ && written > position_ && written - position_ > size) {
            // What is written now is the start of a record, what lies a ring before it may be the middle of one.
            missed_ += written - position_;
            position_ = written;
        }
        if (written == position_)
            return Got::nothing;
        if (written < position_ || written - position_ > size || written - position_ < RingBuffer::kRecordHeaderBytes)
            return Got::damaged;
        std::uint32_t head = 0;
        segment::copy_from_ring(ring_, position_, std::as_writable_bytes(std::span(&head, 1)));
        const std::uint32_t payload = head & ~RingBuffer::kFiller;
        const bool is_filler = (head & RingBuffer::kFiller) != 0;
        const std::uint64_t whole =
            std::uint64_t{RingBuffer::kRecordHeaderBytes} + (std::uint64_t{payload} + 7) / 8 * 8;
        const bool fits = whole <= written - position_ && (is_filler || payload <= RingBuffer::kLargestPayload);
        if (fits) {
            record->resize(is_filler ? 0 : payload);
            segment::copy_from_ring(ring_, position_ + RingBuffer::kRecordHeaderBytes, *record);
        }
        // Who reads along may have read what was just being overwritten.
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        const std::uint64_t overwritten = takes_ ? position_ : load_acquire(ring_.control->written);
        if (!takes_ && overwritten - position_ > size)
            continue;
        if (!fits)
            return Got::damaged;
        position_ += whole;
        if (!is_filler)
            return Got::record;
    }
}

std::uint64_t RecordReader::skip(std::uint64_t most, bool* damaged) {
    const std::uint64_t written = load_acquire(ring_.control->written), size = ring_.data.size();
    std::uint64_t records = 0;
    *damaged = written < position_ || written - position_ > size;
    while (!*damaged && position_ != written && records < most) {
        // Records begin at multiples of 8, so that their first word never goes across the end.
        std::uint32_t head = 0;
        std::memcpy(&head, ring_.data.data() + position_ % size, sizeof head);
        const bool is_filler = (head & RingBuffer::kFiller) != 0;
        const std::uint64_t payload = head & ~RingBuffer::kFiller;
        const std::uint64_t whole = RingBuffer::kRecordHeaderBytes + (payload + 7) / 8 * 8;
        *damaged = whole > written - position_ || (!is_filler && payload > RingBuffer::kLargestPayload);
        if (*damaged)
            break;
        position_ += whole;
        records += is_filler ? 0 : 1;
    }
    return records;
}

}  // namespace egpu::host
