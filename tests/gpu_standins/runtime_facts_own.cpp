// SPDX-License-Identifier: Apache-2.0
// The facts of the runtime stand-in's own types.
#include "gpu/simulated/libcudart/runtime_types.h"

#include "runtime_facts_collect.hpp"

DriverFacts facts_of_own_runtime() {
    return collect_facts();
}
