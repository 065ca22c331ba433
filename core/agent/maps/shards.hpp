// SPDX-License-Identifier: Apache-2.0
// Between a map's memory, which lies in chunks, and a snapshot, which has the used parts of all shards one behind the
// other (maps/layout).
#pragma once

#include <cstddef>
#include <span>

#include "agent/driver/driver.hpp"
#include "maps/layout/layout.hpp"

namespace egpu::agent {

/// Queues the copies on `stream`, whose context is current; the snapshot's length says how many slots. The first call
/// that fails ends it.
CUresult copy_from_shards(const Driver& real, CUdeviceptr map, const maps::Layout& layout,
                          std::span<std::byte> snapshot, CUstream stream);
CUresult copy_to_shards(const Driver& real, CUdeviceptr map, const maps::Layout& layout,
                        std::span<const std::byte> snapshot, CUstream stream);

}  // namespace egpu::agent
