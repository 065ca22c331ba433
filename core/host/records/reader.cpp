// SPDX-License-Identifier: Apache-2.0
#include "host/records/reader.hpp"

#include <cstring>

#include "maps/layout/ring_buffer.hpp"
#include "segment/access/record_ring.hpp"
#include "segment/access/shared.hpp"

namespace egpu::host {

using maps::RingBuffer;
using segment::load_acquire;

namespace {

/// What stands before a record.
struct Head {
    std::uint32_t word = 0;
    bool is_filler() const { return (word & RingBuffer::kFiller) != 0; }
    std::uint32_t payload() const { return word & ~RingBuffer::kFiller; }
    /// With itself, and what fills the payload up to 8 bytes.
    std::uint64_t whole() const {
        return std::uint64_t{RingBuffer::kRecordHeaderBytes} + (std::uint64_t{payload()} + 7) / 8 * 8;
    }
    /// Of a record of which so many bytes may be there.
    bool fits(std::uint64_t bytes) const {
        return whole() <= bytes && (is_filler() || payload() <= RingBuffer::kLargestPayload);
    }
};

}  // namespace

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
        Head head;
        segment::copy_from_ring(ring_, position_, std::as_writable_bytes(std::span(&head.word, 1)));
        const bool fits = head.fits(written - position_);
        if (fits) {
            record->resize(head.is_filler() ? 0 : head.payload());
            segment::copy_from_ring(ring_, position_ + RingBuffer::kRecordHeaderBytes, *record);
        }
        // Who reads along may have read what was just being overwritten.
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        const std::uint64_t overwritten = takes_ ? position_ : load_acquire(ring_.control->written);
        if (!takes_ && overwritten - position_ > size)
            continue;
        if (!fits)
            return Got::damaged;
        position_ += head.whole();
        if (!head.is_filler())
            return Got::record;
    }
}

std::uint64_t RecordReader::skip(std::uint64_t most, bool* damaged) {
    const std::uint64_t written = load_acquire(ring_.control->written), size = ring_.data.size();
    std::uint64_t records = 0;
    *damaged = written < position_ || written - position_ > size;
    while (!*damaged && position_ != written && records < most) {
        // Records begin at multiples of 8, so that their first word never goes across the end.
        Head head;
        std::memcpy(&head.word, ring_.data.data() + position_ % size, sizeof head.word);
        *damaged = !head.fits(written - position_);
        if (*damaged)
            break;
        position_ += head.whole();
        records += head.is_filler() ? 0 : 1;
    }
    return records;
}

}  // namespace egpu::host
