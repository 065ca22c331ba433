// SPDX-License-Identifier: Apache-2.0
// How a process ends: exit() comes through an atexit handler, the rest through wrapped functions of the C library.
#pragma once

#include "segment/layout/layout.h"

namespace egpu::agent {

/// The last drain (at most 200 ms), the session's state, a dead egpu process's segment removed. Once; only in the
/// process that claimed the session. Launches that still come run originals.
void end_of_process(egpu_end_reason reason);

}  // namespace egpu::agent
