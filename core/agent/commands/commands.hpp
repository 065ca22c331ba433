// SPDX-License-Identifier: Apache-2.0
// What the egpu process says while the application runs: which copy a kernel is to run from now on.
#pragma once

namespace egpu::agent {

/// Reads the commands that have come and carries them out as far as that needs no load: a copy that was never loaded
/// waits for a quiet moment (agent/kernels/copies.hpp). On the drain thread, inside OwnCalls; makes the observed
/// context current. Waits for nobody but, in the middle of a message, for the egpu process (at most a second, while it
/// lives).
void take_commands();

}  // namespace egpu::agent
