// SPDX-License-Identifier: Apache-2.0
// One drain: every map that is in use, from GPU memory to the segment.
#pragma once

#include "gpu/device/driver.h"

namespace egpu::agent {

/// Copies the used prefix of each allocated map and publishes it. On the drain thread, observed context current.
/// CUDA_SUCCESS where all maps were copied (also where there is none yet).
CUresult copy_all_maps();

/// A sticky error: says which and how many copies had been launched since the last good drain.
void report_lost_device(CUresult error);

}  // namespace egpu::agent
