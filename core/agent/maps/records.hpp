// SPDX-License-Identifier: Apache-2.0
// Ring buffers (maps/layout/ring_buffer.hpp): what programs sent goes from the GPU memory of each place to the segment,
// in the order in which it was sent there, and the chunks that were taken are given back to the GPU.
#pragma once

#include <cstdint>

#include "agent/maps/places.hpp"

namespace egpu::agent {

/// For the drain: takes what there is from these places (bit i: place i). What finds no room in the segment stays.
/// `last`: nothing runs any more, so that chunks whose turn has not come are taken, too, where slow threads put records
/// into them.
CUresult take_records(std::uint32_t map, std::uint32_t places, bool last);
/// More than half of a ring was full at the last time: the next drain shouldn't wait.
bool records_are_waiting();
/// Something was there at the last time and was not taken.
bool records_are_behind();
/// A place goes: its rings begin anew in the next one. With the drain paused.
void forget_records(const Place& place);

}  // namespace egpu::agent
