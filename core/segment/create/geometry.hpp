// SPDX-License-Identifier: Apache-2.0
// Where each piece of a segment lies, worked out before anything is made.
#pragma once

#include <vector>

#include "segment/create/create.hpp"

namespace egpu::segment {

struct MapPlace {
    egpu_extent keys{};
    egpu_extent snapshot[2]{};
};

struct Geometry {
    egpu_extent kernels{}, copies{}, copy_times{}, maps{}, to_host{}, to_agent{}, commands{}, catalogue[2]{}, reserve{};
    std::vector<MapPlace> map;
    std::uint64_t bytes = 0;
};

/// EGPU-X012 where a count or size is out of what a reader would accept.
Status check_request(const SegmentRequest& request);

/// For a request that was checked.
Geometry geometry_of(const SegmentRequest& request);

/// Writes header and map entries into zeroed memory of geometry.bytes; the magic last. The calling process is the host.
void lay_out(std::byte* base, const SegmentRequest& request, const Geometry& geometry);

/// EGPU-X012 for one map, as check_request says it.
Status check_map(const MapDescription& map);

/// Where a map's keys and snapshots would lie behind `used` bytes of the reserve; `*end`: the reserve used with it,
/// which may be more than there is.
MapPlace place_in_reserve(const MapDescription& map, const egpu_extent& reserve, std::uint64_t used,
                          std::uint64_t* end);

/// With `base`, the segment's: what the map holds at first becomes its published snapshot.
egpu_map_entry map_entry(std::byte* base, const MapDescription& map, const MapPlace& place);

}  // namespace egpu::segment
