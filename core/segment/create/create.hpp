// SPDX-License-Identifier: Apache-2.0
// The egpu process's side of a segment: laying it out, owning it, publishing into it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "maps/layout/layout.hpp"
#include "segment/access/view.hpp"

namespace egpu::segment {

/// The environment variable that hands a segment's name to the agent.
inline constexpr const char* kNameVariable = "EGPU_SEGMENT";

struct MapDescription {
    std::string name;  ///< "bandwidth/traffic", cut at 63 characters
    std::uint32_t key_bytes = 0;
    std::uint32_t value_bytes = 0;
    std::uint32_t capacity = 0;
    std::uint32_t shards = 1;
    bool is_array = false;
    bool adds_up = false;  ///< egpu_map_entry.adds_up, narrow_words
    std::uint64_t narrow_words = 0;
    std::uint64_t ring_bytes = 0;      ///< of a ring buffer, laid out as maps::RingBuffer says
    std::vector<std::byte> initial{};  ///< of slot 0, of a map with one shard that doesn't add up; empty: zeroes
};

struct SegmentRequest {
    std::vector<MapDescription> maps;
    std::uint32_t kernel_capacity = 1024;
    std::uint32_t wait_ms = 2000;              ///< how long a module load may wait for its copies
    std::uint32_t drain_interval_us = 50'000;  ///< 20 Hz
    std::uint64_t gpu_memory_limit = std::uint64_t{64} << 20;
    std::uint64_t ring_bytes = std::uint64_t{1} << 20;       ///< each of the two, a multiple of 4096
    std::uint64_t catalogue_bytes = std::uint64_t{1} << 20;  ///< each of the two
    std::uint64_t commands_bytes = std::uint64_t{64} << 10;  ///< the commands ring, a multiple of 4096
    std::uint64_t reserve_bytes = 0;                         ///< for maps of probes that are added later
    std::uint32_t copy_capacity = 2048;
    std::uint32_t sample_launches = 1;  ///< one launch in so many of each kernel runs its copy
    std::uint64_t launch_skip = 0;      ///< not the first so many
    std::uint64_t launch_count = 0;     ///< only the so many after them; 0: all
    bool time_launches = false;         ///< launches of copies are timed now and then
    bool measure_overhead = false;      ///< launches alternate between copy and original, and are timed
};

/// Bytes that a segment for this request has.
std::uint64_t segment_bytes(const SegmentRequest& request);

/// A segment that this process made. Its name disappears with the object.
class OwnedSegment {
public:
    OwnedSegment(OwnedSegment&&) noexcept;
    OwnedSegment& operator=(OwnedSegment&&) noexcept;
    ~OwnedSegment();

    /// "egpu-UID-PID" of this process, reserved, zeroed, laid out, mode 0600. EGPU-X010: no room in /dev/shm,
    /// EGPU-X011: can't be made, EGPU-X012: the request itself can't be (too many maps, a value of 0 bytes, ...).
    static Result<OwnedSegment> create(const SegmentRequest& request);

    const std::string& name() const;
    const View& view() const;
    /// Calls beat() ten times a second, or the agent takes this process for dead once it is.
    void beat();
    /// Publishes a new catalogue. False where it is larger than its place.
    bool publish_catalogue(std::string_view json);
    /// Lays further maps into the reserve, all or none; they get the next indices. EGPU-X013 where there is no room,
    /// EGPU-X012 where one can't be.
    Status add_maps(const std::vector<MapDescription>& maps);
    /// Bytes of the reserve that are free.
    std::uint64_t reserve_left() const;
    /// Publishes the key of the next slot of a hash map: returns its number, or capacity where the map is full
    /// (counted in refused_keys).
    std::uint32_t publish_key(std::uint32_t map, std::span<const std::byte> key);

private:
    struct State;
    explicit OwnedSegment(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

/// The catalogue that a segment holds now; "" where there is none yet.
std::string read_catalogue(const View& view);

}  // namespace egpu::segment
