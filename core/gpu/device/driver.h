/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA driver interface as egpu uses it: types, constants and functions, written down from the binary interface,
 * so that building egpu needs no NVIDIA package. For C and C++; names are the driver's own. Functions carry the names
 * that libcuda.so.1 exports, version and stream suffix included (cuMemAlloc_v2, cuLaunchKernel_ptsz), never the macros
 * of a toolkit. tests/gpu_standins compares sizes, offsets, values and prototypes with cuda.h where a toolkit is found.
 *
 * Steps aside where <cuda.h> was included before. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#if !defined(__cuda_cuda_h__) && !defined(CUDA_VERSION)
#include "gpu/device/driver_values.h"

#include "gpu/device/driver_types.h"

#include "gpu/device/driver_functions.h"

#include "gpu/device/driver_graphs.h"

#include "gpu/device/driver_arrays.h"
#endif

/* The version of the interface that egpu speaks. */
#define EGPU_DRIVER_API_VERSION 13000
