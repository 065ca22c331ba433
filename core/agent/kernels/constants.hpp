// SPDX-License-Identifier: Apache-2.0
// Copies whose constants lie in a constant bank of their own (DESIGN 6, rule 4). Before each launch of such a copy its
// constants are made equal to the original's by copies on the device, in the launch's own stream. Where that can't be,
// the copy's other form is launched, which reads the original's constants by address.
#pragma once

#include "agent/kernels/inventory.hpp"
#include "agent/maps/idle.hpp"

namespace egpu::agent {

/// Loads the bank's form that came with a copy, once; false, with the reason, where the driver refuses. Inside
/// OwnCalls, context current, under the load lock.
bool load_bank(const ReceivedCopy& received, const char* name, Bank* bank, egpu_message_copy_result* result);

/// Everything of it that depends on the original: figures, table, where its constants come from. Not while it runs.
bool fit_bank(const Image& image, Place* place, const ReceivedCopy& received, Copy* copy,
              egpu_message_copy_result* result);

/// Whether something may be put before and behind this launch in its stream (a copy, an event): false for attributes
/// that change what a launch is beside the work before it, or what may be launched with it.
bool may_follow_other_work(const CUlaunchConfig* config);

/// On a launch that is not recorded, of a copy that has a bank: the function whose constants will hold what the
/// original's hold when the launch runs, for they are copied in the stream first; null where the other form is to run.
/// One exchange, two stores and the copy; no lock that is waited for, no allocation.
CUfunction refreshed(Copy* copy, Place* place, const BlockShape& shape, CUstream stream, StreamForm form);

}  // namespace egpu::agent
