// SPDX-License-Identifier: Apache-2.0
// The observed context and the session's maps in its memory. One context a process in this version: the first that
// gets a copy.
#pragma once

#include <cstdint>

#include "gpu/device/driver.h"

namespace egpu::agent {

/// The observed context, or null: none so far, or gone.
CUcontext home_context();
CUdevice home_device();
/// Whether it is its device's primary context: release and reset then end it.
bool home_is_primary();

/// Makes the current context the observed one where there was none (own stream, staging memory). True where the current
/// context is the observed one. Inside OwnCalls, never while another thread does the same (the load lock).
bool adopt_current_context();

/// To be called before the observed context goes away: nothing of it is touched afterwards.
void forget_home_context();

/// Our own non-blocking stream in the observed context.
CUstream own_stream();

/// Pinned memory that holds the largest map, or null: copies then go straight to the segment.
void* staging();

/// Device address of map `index`; allocated and zeroed at its first use. 0 where memory is refused or the session's
/// limit would be passed. Under the load lock.
CUdeviceptr map_memory(std::uint32_t index);

/// The same, where it was allocated already; 0 else. Any thread.
CUdeviceptr allocated_map(std::uint32_t index);

}  // namespace egpu::agent
