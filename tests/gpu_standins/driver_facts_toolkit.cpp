// SPDX-License-Identifier: Apache-2.0
// The facts of the toolkit's cuda.h. The macro makes it declare every version of a function under its exported name.
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <cudaProfiler.h>

#include "driver_facts_collect.hpp"

DriverFacts facts_of_toolkit_header() {
    return collect_facts();
}
