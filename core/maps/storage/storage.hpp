// SPDX-License-Identifier: Apache-2.0
// How a map of an object is stored in GPU memory: as it is defined, and as programs ask for its keys.
#pragma once

#include <cstdint>

#include "ebpf/object/object.hpp"
#include "maps/layout/hash_table.hpp"
#include "maps/layout/layout.hpp"
#include "maps/layout/ring_buffer.hpp"

namespace egpu::maps {

/// Of a map whose keys are made at run time.
inline HashTable hash_table_of(const ebpf::MapDefinition& map) {
    return {map.key_bytes, map.value_bytes, map.max_entries};
}

inline RingBuffer ring_buffer_of(const ebpf::MapDefinition& map) {
    return {map.max_entries};
}

/// On a device with so many SMs.
inline Layout layout_of(const ebpf::MapDefinition& map, std::uint32_t sm_count) {
    if (map.is_ring())
        return ring_buffer_of(map).layout();
    return map.keys_at_run_time ? hash_table_of(map).layout()
                                : make_layout(map.value_bytes, map.max_entries, map.per_sm(), sm_count);
}

}  // namespace egpu::maps
