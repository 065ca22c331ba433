// SPDX-License-Identifier: Apache-2.0
// What the mock driver's graphs ask of the rest of it, and the other way round.
#pragma once

#include "gpu/device/driver.h"

/// A library's kernel, and one of its functions, were given out.
void mock_note_kernel(CUkernel kernel);
void mock_note_function(CUfunction function, CUkernel kernel);

/// A launch on a stream in capture becomes a node: false where it is in none.
bool mock_record(CUstream stream, CUfunction function);

/// The export for a name and version, null where it is not about graphs.
void* mock_graph_export(const char* name, int version, bool per_thread);
