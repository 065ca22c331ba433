// SPDX-License-Identifier: Apache-2.0
// Sizes, offsets, values and prototypes of the CUDA driver interface as one header gives them, by name.
#pragma once

#include <map>
#include <string>

using DriverFacts = std::map<std::string, std::string>;

DriverFacts facts_of_own_header();
DriverFacts facts_of_toolkit_header();
DriverFacts facts_of_own_runtime();
DriverFacts facts_of_toolkit_runtime();
