// SPDX-License-Identifier: Apache-2.0
// What a map holds altogether: the memory of each place that has it, and what places held that have ended. Totals never
// fall when a context goes, and nothing is counted twice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "agent/maps/places.hpp"

namespace egpu::agent {

/// Whether the map can be added up over places: every field is a number that programs only add to (the egpu process
/// says so, egpu_map_entry.merge). Else one place at a time has it.
bool adds_up(std::uint32_t map);

/// Whether `place` may have the map: it adds up, is a ring buffer, or no other place has it.
bool may_have(const Place& place, std::uint32_t map);

/// What a place's memory of this map starts with: of a map that doesn't add up, what the place before it held; of the
/// first place, what the egpu process laid into the map's snapshot.
std::span<const std::byte> first_content(std::uint32_t map);

/// For the drain. A map's parts: `to` becomes what ended places held (zeroes without any), then each place's memory is
/// added to it. `bytes` is the used part of the map.
bool has_parts(std::uint32_t map);
void begin_sum(std::uint32_t map, std::span<std::byte> to);
void add_part(std::uint32_t map, std::span<const std::byte> part, std::span<std::byte> to);
/// Room for what a place held at this drain, while others have the map as well; empty where memory is short.
std::span<std::byte> last_part(std::uint32_t map, const Place& place, std::uint32_t slots);
/// The published snapshot holds the parts of these places (bit i: place i).
void snapshot_holds(std::uint32_t map, std::uint32_t places);

/// Before a place goes: what it held at the last drain is kept. With the drain paused. False where memory is short: the
/// totals can't go on.
bool keep_contents(const Place& place);

}  // namespace egpu::agent
