// SPDX-License-Identifier: Apache-2.0
// Loading instrumented copies: module, table, comparison with the original.
#pragma once

#include "agent/kernels/inventory.hpp"

namespace egpu::agent {

/// Loads the copies of `image` that wait for a context, into the current one, and tells the egpu process what became
/// of each. Without a current context they go on waiting. Inside OwnCalls and under the load lock.
void load_copies(Image* image);

/// The same for all images. Called at moments when a load stalls nobody: inside the application's own load or context
/// creation, after it synchronised its context, before its first launch.
void load_waiting_copies();

/// One relaxed load: whether load_waiting_copies() has anything to do.
bool copies_wait();

/// The copy is never launched again; the reason is recorded.
void retire_copy(Kernel* kernel, egpu_copy_reason reason, CUresult result);

/// At the end of the observed context: all copies of all kernels.
void retire_all_copies();

}  // namespace egpu::agent
