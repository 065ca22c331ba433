// SPDX-License-Identifier: Apache-2.0
// The session's maps in the memory of a place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "agent/maps/places.hpp"

namespace egpu::agent {

/// Bytes of the largest snapshot that a map of the session can have.
std::uint64_t largest_map();

/// Device address of map `index` in `place`, whose context is current; allocated at its first use and filled with what
/// `content` holds, zeroes behind that. 0 where memory is refused or the session's limit for a device would be passed.
/// Under the load lock.
CUdeviceptr map_memory(Place* place, std::uint32_t index, std::span<const std::byte> content);

/// The same, where it was allocated already; 0 else. Any thread.
CUdeviceptr allocated_map(const Place& place, std::uint32_t index);

/// Whether so many bytes more on the place's device stay within the session's limit.
bool fits_limit(const Place& place, std::uint64_t bytes);
/// Puts what all places hold into the segment: the figure is of all devices together.
void book_memory();

/// Of a place that ends: its memory is the driver's business.
void forget_memory(Place* place);

}  // namespace egpu::agent
