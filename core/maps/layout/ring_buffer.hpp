// SPDX-License-Identifier: Apache-2.0
// A ring buffer in GPU memory: threads append records, the host takes them out in their order.
//
//     | chunk 0 | chunk 1 | ... chunk 7 | header |
//     chunk:   records one behind the other; the last one may fill the rest up
//     record:  bytes of what follows, or kFiller and those (4) | - (4) | payload, padded to 8
//     header:  chunks begun (8) | records dropped (8) | - (48) | of each chunk: bytes given out (4), bytes written (4)
//
// A thread adds its record's bytes to what was given out of the present chunk; where they fit, that place is its own.
// When the record is whole, the same bytes are added to what was written: a reader that finds both equal has everything
// before them. The first thread for which there is no room fills the rest of the chunk up, and begins the next one
// where the host has emptied it; else the record is dropped and counted. Nobody waits. Once another has begun, the host
// empties a chunk by making both numbers 0; a slow thread may put its record into it before its turn comes, where it is
// found in its turn, or as soon as such threads have filled the next chunk, which nobody could begin.
#pragma once

#include <cstdint>

#include "maps/layout/layout.hpp"

namespace egpu::maps {

struct RingBuffer {
    std::uint32_t bytes = 0;  ///< of all chunks: max_entries, a power of two, at least kLeastBytes

    static constexpr std::uint32_t kChunks = 8, kLeastBytes = 4096;
    static constexpr std::uint32_t kRecordHeaderBytes = 8, kFiller = 0x80000000;
    static constexpr std::uint32_t kBegunOffset = 0, kDroppedOffset = 8, kWordsOffset = 64, kHeaderBytes = 128;
    /// Bytes that fit a chunk of the smallest ring.
    static constexpr std::uint32_t kLargestPayload = kLeastBytes / kChunks - kRecordHeaderBytes;
    static constexpr std::uint32_t kUnit = 1024;  ///< bytes of a slot, as which all of it is laid out

    std::uint32_t chunk_bytes() const { return bytes / kChunks; }
    std::uint64_t header_offset() const { return bytes; }
    /// Of a record with so many bytes of payload.
    static std::uint32_t record_bytes(std::uint32_t payload) { return kRecordHeaderBytes + (payload + 7) / 8 * 8; }

    /// As one map of slots; the header takes the last one.
    Layout layout() const { return {kUnit, kUnit, bytes / kUnit + 1, 1}; }
};

}  // namespace egpu::maps
