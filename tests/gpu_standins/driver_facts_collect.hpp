// SPDX-License-Identifier: Apache-2.0
// Collects driver_facts.inc from whichever header was included before this one.
#pragma once

#include <cstddef>
#include <typeinfo>

#include "driver_facts.hpp"

#define VALUE(value) facts[#value] = std::to_string(static_cast<long long>(value));
#define TYPE(type) facts["type " #type] = std::string(typeid(type).name()) + " of " + std::to_string(sizeof(type));
#define FIELD(type, field)                                                           \
    facts[#type "." #field] = "at " + std::to_string(offsetof(type, field)) + ", " + \
                              std::to_string(sizeof(static_cast<type*>(nullptr)->field)) + " bytes";
#define FUNCTION(function) facts[#function "()"] = typeid(decltype(function)).name();

static DriverFacts collect_facts() {
    DriverFacts facts;
#include "driver_facts.inc"
    return facts;
}
