// SPDX-License-Identifier: Apache-2.0
// A place's memory for copies that follow their launches from the first thread to the last. What lies in it is the
// copies' own business, but for its first 8 bytes: about how many launches were not followed.
#pragma once

#include <cstdint>

#include "agent/maps/places.hpp"

namespace egpu::agent {

/// Where `place`, whose context is current, has it: `bytes` zeroes at its first use. 0 where memory is refused or the
/// session's limit for a device would be passed. Under the load lock.
CUdeviceptr grids_memory(Place* place, std::uint64_t bytes);

/// Reads the counts of all places and puts their sum into the segment. For the drain; the contexts become current.
CUresult count_lost_grids();

/// Of a place that ends: what it had counted is kept.
void forget_grids(Place* place);

}  // namespace egpu::agent
