// SPDX-License-Identifier: Apache-2.0
#include "agent/maps/records.hpp"

#include <cstddef>
#include <cstring>

#include "agent/driver/driver.hpp"
#include "agent/maps/device_maps.hpp"
#include "agent/maps/staging.hpp"
#include "agent/session/session.hpp"
#include "maps/layout/ring_buffer.hpp"
#include "segment/access/record_ring.hpp"
#include "segment/access/shared.hpp"

namespace egpu::agent {

namespace {

using maps::RingBuffer;

/// How far a ring of a place was taken out.
struct Position {
    std::uint64_t chunk = 0;  ///< since the start
    std::uint32_t bytes = 0;  ///< of that chunk
    std::uint64_t dropped = 0;
    std::uint64_t behind = 0;  ///< bytes that were there and were not taken
    void took(std::uint64_t of_them) { behind -= of_them < behind ? of_them : behind; }
};
constinit Position positions[EGPU_SEGMENT_MAX_MAPS][kMostPlaces] = {};
constinit std::uint64_t dropped_before[EGPU_SEGMENT_MAX_MAPS] = {};  // by places that ended
constinit std::uint64_t waiting = 0;                                 // bit i: map i

/// The header of a ring as the GPU has it, read twice: what is written is taken from the first time, what is given out
/// from the second. Where both are equal all of it was written at the first time, whether or not a copy reads both at
/// once.
struct Header {
    std::uint64_t earlier[RingBuffer::kHeaderBytes / 8] = {};
    std::uint64_t words[RingBuffer::kHeaderBytes / 8] = {};
    std::uint64_t begun() const { return words[RingBuffer::kBegunOffset / 8]; }
    std::uint64_t dropped() const { return words[RingBuffer::kDroppedOffset / 8]; }
    /// Bytes given out of all chunks, those of this one counted from its start.
    std::uint64_t given(std::uint32_t chunk_bytes, std::uint64_t first) const {
        std::uint64_t bytes = 0;
        for (std::uint64_t chunk = first; chunk < first + RingBuffer::kChunks; ++chunk)
            bytes += taken_of(chunk, chunk_bytes);
        return bytes;
    }
    /// Bytes of a chunk that are a record's or filled up: threads that found no room have asked for more.
    std::uint32_t taken_of(std::uint64_t chunk, std::uint32_t chunk_bytes) const {
        const auto given = static_cast<std::uint32_t>(words[place_of(chunk)]);
        return given < chunk_bytes ? given : chunk_bytes;
    }
    std::uint32_t written_of(std::uint64_t chunk) const {
        return static_cast<std::uint32_t>(earlier[place_of(chunk)] >> 32);
    }
    static std::size_t place_of(std::uint64_t chunk) {
        return RingBuffer::kWordsOffset / 8 + chunk % RingBuffer::kChunks;
    }
};

struct Ring {
    RingBuffer layout;
    CUdeviceptr memory = 0;
    CUdeviceptr header() const { return memory + layout.header_offset(); }
    CUdeviceptr chunk(std::uint64_t number) const {
        return memory + number % RingBuffer::kChunks * layout.chunk_bytes();
    }
    CUdeviceptr word(std::uint64_t number) const { return header() + Header::place_of(number) * sizeof(std::uint64_t); }
};

CUresult read_header(const Place& place, const Ring& ring, Header& header) {
    const CUresult result = fetch(place, ring.header(), std::as_writable_bytes(std::span(header.earlier)));
    return result != CUDA_SUCCESS ? result
                                  : fetch(place, ring.header(), std::as_writable_bytes(std::span(header.words)));
}

/// The chunk is the GPU's again. By copies: a memset could be a kernel, and wait for one that never ends. What is
/// written becomes 0 before what is given out, which opens the chunk: nothing says that a copy writes both at once, and
/// a record that is put between them would never be found to be whole.
CUresult give_back(const Place& place, CUdeviceptr word) {
    static constinit std::uint32_t nothing = 0;
    const Driver& real = driver();
    void* from = &nothing;
    if (place.staging != nullptr)
        from = std::memset(place.staging, 0, sizeof nothing);
    CUresult result = CUDA_SUCCESS;
    for (const CUdeviceptr half : {word + sizeof nothing, word}) {
        if (result == CUDA_SUCCESS)
            result = real.cuMemcpyHtoDAsync_v2(half, from, sizeof nothing, place.stream);
        if (result == CUDA_SUCCESS)
            result = real.cuStreamSynchronize(place.stream);
    }
    return result;
}

/// Copies so many bytes of a chunk to the segment; there is room for them.
CUresult move(const Place& place, CUdeviceptr from, std::uint64_t bytes, segment::RecordWriter& writer) {
    while (bytes != 0) {
        const std::span<std::byte> to = writer.next(bytes);
        const CUresult result = fetch(place, from, to);
        if (result != CUDA_SUCCESS)
            return result;
        writer.advance(to.size());
        from += to.size();
        bytes -= to.size();
    }
    writer.publish();
    return CUDA_SUCCESS;
}

/// What slow threads put into a chunk whose turn has not come, so that it was given back before: where all that was
/// given out is written. Each of them once, since it is given back.
CUresult take_early(const Place& place, const Ring& ring, const Header& header, std::uint64_t chunk, Position& position,
                    segment::RecordWriter& writer) {
    const std::uint32_t bytes = header.taken_of(chunk, ring.layout.chunk_bytes());
    if (bytes == 0 || header.written_of(chunk) != bytes || bytes > writer.room())
        return CUDA_SUCCESS;
    if (const CUresult result = move(place, ring.chunk(chunk), bytes, writer); result != CUDA_SUCCESS)
        return result;
    position.took(bytes);
    return give_back(place, ring.word(chunk));
}

/// Takes whole chunks, and of the last one what is written: where not everything that was given out is, nothing, since
/// it isn't known what of it is. `*chunks`: how many were emptied.
CUresult take(const Place& place, const Ring& ring, Position& position, segment::RecordWriter& writer, int* chunks) {
    *chunks = 0;
    Header header;
    CUresult result = read_header(place, ring, header);
    if (result != CUDA_SUCCESS)
        return result;
    const std::uint32_t whole = ring.layout.chunk_bytes();
    position.dropped = header.dropped();
    position.behind = header.given(whole, position.chunk) - position.bytes;
    for (; *chunks < static_cast<int>(RingBuffer::kChunks); ++*chunks) {
        const std::uint32_t end = header.taken_of(position.chunk, whole);
        if (header.written_of(position.chunk) != end || end < position.bytes)
            return CUDA_SUCCESS;
        const std::uint64_t bytes = end - position.bytes;
        if (bytes > writer.room())
            return CUDA_SUCCESS;
        result = move(place, ring.chunk(position.chunk) + position.bytes, bytes, writer);
        if (result != CUDA_SUCCESS)
            return result;
        position.bytes = end;
        position.took(bytes);
        if (end != whole)
            return CUDA_SUCCESS;
        // The present chunk stays as it is, also when it is full: threads would begin with it again. They begin the
        // next one where it is not full; where slow threads have filled that, nobody would ever. (The header is older
        // than what was given back since.)
        if (header.begun() == position.chunk) {
            const std::uint64_t next = position.chunk + 1;
            const bool is_stuck = *chunks == 0 && header.taken_of(next, whole) == whole;
            return is_stuck ? take_early(place, ring, header, next, position, writer) : CUDA_SUCCESS;
        }
        if (result = give_back(place, ring.word(position.chunk)); result != CUDA_SUCCESS)
            return result;
        ++position.chunk;
        position.bytes = 0;
    }
    return CUDA_SUCCESS;
}

/// Of all chunks whose turn will not come any more.
CUresult take_all_early(const Place& place, const Ring& ring, Position& position, segment::RecordWriter& writer) {
    Header header;
    CUresult result = read_header(place, ring, header);
    for (std::uint64_t chunk = position.chunk + 1; chunk < position.chunk + RingBuffer::kChunks; ++chunk) {
        if (result == CUDA_SUCCESS && chunk > header.begun())
            result = take_early(place, ring, header, chunk, position, writer);
    }
    return result;
}

void publish_dropped(std::uint32_t map, egpu_record_ring& ring) {
    std::uint64_t dropped = dropped_before[map];
    for (const Position& position : positions[map])
        dropped += position.dropped;
    segment::store_relaxed(ring.dropped, dropped);
}

}  // namespace

CUresult take_records(std::uint32_t map, std::uint32_t places, bool last) {
    constexpr int kMostTurns = 8;  // of a place, before the others have theirs
    const segment::RecordRingView view_of_ring = view().record_ring(map);
    segment::RecordWriter writer(view_of_ring);
    waiting &= ~(std::uint64_t{1} << map);
    std::uint64_t behind = 0;
    for (unsigned int i = 0; i < kMostPlaces; ++i) {
        if ((places >> i & 1) == 0)
            continue;
        const Place& place = place_at(i);
        const Ring ring{{static_cast<std::uint32_t>(view().geometry(map).ring_bytes)}, allocated_map(place, map)};
        CUresult result = driver().cuCtxSetCurrent(place.context);
        int chunks = static_cast<int>(RingBuffer::kChunks);
        for (int turn = 0; result == CUDA_SUCCESS && turn < kMostTurns && chunks > 1; ++turn)
            result = take(place, ring, positions[map][i], writer, &chunks);
        if (result == CUDA_SUCCESS && last)
            result = take_all_early(place, ring, positions[map][i], writer);
        if (result != CUDA_SUCCESS)
            return result;
        if (chunks > static_cast<int>(RingBuffer::kChunks) / 2)
            waiting |= std::uint64_t{1} << map;
        behind += positions[map][i].behind;
    }
    segment::store_relaxed(view_of_ring.control->behind, behind);
    publish_dropped(map, *view_of_ring.control);
    return CUDA_SUCCESS;
}

bool records_are_waiting() {
    return waiting != 0;
}

bool records_are_behind() {
    for (std::uint32_t map = 0; map < view().map_count(); ++map)
        for (const Position& position : positions[map])
            if (position.behind != 0)
                return true;
    return false;
}

void forget_records(const Place& place) {
    const unsigned int index = index_of(place);
    for (std::uint32_t map = 0; map < EGPU_SEGMENT_MAX_MAPS; ++map) {
        dropped_before[map] += positions[map][index].dropped;
        positions[map][index] = {};
    }
}

}  // namespace egpu::agent
