// SPDX-License-Identifier: Apache-2.0
// A map of the catalogue as the segment lays it out.
#pragma once

#include "host/catalogue/catalogue.hpp"
#include "maps/layout/layout.hpp"
#include "segment/create/create.hpp"

namespace egpu::host {

segment::MapDescription describe(const Map& map, const maps::Layout& layout);

/// Whether what several contexts or devices counted into the map can be added up.
bool adds_up(const Map& map);

}  // namespace egpu::host
