// SPDX-License-Identifier: Apache-2.0
// The JSON Schema of probe sets, made from the table of keys: what editors complete and check by.
#pragma once

#include <string>

namespace egpu::host {

/// configs/probeset.schema.json as it is to be; a test compares them.
std::string probe_set_schema();

}  // namespace egpu::host
