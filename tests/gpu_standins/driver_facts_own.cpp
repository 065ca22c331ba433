// SPDX-License-Identifier: Apache-2.0
// The facts of core/gpu/device/driver.h.
#include "gpu/device/driver.h"

#include "driver_facts_collect.hpp"

DriverFacts facts_of_own_header() {
    return collect_facts();
}
