// SPDX-License-Identifier: Apache-2.0
// What the mock driver's events ask of the rest of it, and the other way round.
#pragma once

#include "gpu/device/driver.h"

/// A launch ran: the device's clock goes on by so many ns.
void mock_ran(bool is_copy, unsigned long long nanoseconds);
/// A copy on the device is queued.
void mock_copied_on_device();
/// Everything up to now is done (MOCK_EVENTS_PENDING).
void mock_settled();

/// The thread is in relaxed capture mode.
bool mock_is_relaxed();

/// In mock_driver.cpp: where work on the stream runs.
CUcontext mock_context_of(CUstream stream);
