// SPDX-License-Identifier: Apache-2.0
// The facts of the toolkit's runtime headers.
#include <cuda_runtime_api.h>

#include "runtime_facts_collect.hpp"

DriverFacts facts_of_toolkit_runtime() {
    return collect_facts();
}
