// SPDX-License-Identifier: Apache-2.0
// What became of a probe set's expectations, for a person.
#pragma once

#include <vector>

#include "host/export/expectations.hpp"

namespace egpu::cli {

/// Says them behind "egpu: ", those that failed as errors with their place (EGPU-S040); `failed_only` leaves out the
/// others. True where none failed.
bool say_expectations(const std::vector<host::ExpectationResult>& results, bool failed_only);

}  // namespace egpu::cli
