// SPDX-License-Identifier: Apache-2.0
// One drain: every map that is in use, from the GPU memory of each place to the segment.
#pragma once

#include "gpu/device/driver.h"

namespace egpu::agent {

/// Copies the used part of each allocated map, summed over the places that have it, and publishes it. On the drain
/// thread, which it leaves in one of their contexts.
/// CUDA_SUCCESS where all maps were copied (also where there is none yet). `last`: nothing runs any more.
CUresult copy_all_maps(bool last);

/// A sticky error: says which and how many copies had been launched since the last good drain.
void report_lost_device(CUresult error);

}  // namespace egpu::agent
