// SPDX-License-Identifier: Apache-2.0
// Collects runtime_facts.inc from whichever header was included before this one.
#pragma once

#include <cstddef>

#include "driver_facts.hpp"

#define VALUE(value) facts[#value] = std::to_string(static_cast<long long>(value));
#define SIZE(type) facts["size of " #type] = std::to_string(sizeof(type));
#define FIELD(type, field)                                                           \
    facts[#type "." #field] = "at " + std::to_string(offsetof(type, field)) + ", " + \
                              std::to_string(sizeof(static_cast<type*>(nullptr)->field)) + " bytes";

static DriverFacts collect_facts() {
    DriverFacts facts;
#include "runtime_facts.inc"
    return facts;
}
