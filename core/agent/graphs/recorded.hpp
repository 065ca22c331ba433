// SPDX-License-Identifier: Apache-2.0
// Copies that stand in nodes of graphs. The application asks nodes what they hold and must get what it put there.
#pragma once

#include "agent/kernels/inventory.hpp"
#include "gpu/device/driver.h"

namespace egpu::agent {

/// A copy in at least one node, and its original as the driver names it there: of a module's function only that, of a
/// library's kernel both handles, whichever the application used (seen with driver 580). Never freed.
struct Recorded {
    CUfunction copy = nullptr;
    Kernel* kernel = nullptr;
    CUfunction original = nullptr;
    CUkernel original_kernel = nullptr;  ///< null for a module's function
    CUcontext context = nullptr;         ///< the copy's
    egpu_copy_counters* counters = nullptr;
    Recorded* next = nullptr;
};

/// The entry of a function that a node holds; null where it is no copy of ours. Any thread, no lock.
const Recorded* recorded(CUfunction function);

/// From now on a copy may stand in nodes of this context where the application named `asked`. Inside OwnCalls. False
/// where the original's handles can't be had: then it must not be put there.
bool record_copy(const Copy& copy, CUfunction asked, CUcontext context);

/// Before a context ends: the driver may give its handles to others.
void forget_recorded(CUcontext context);

}  // namespace egpu::agent
