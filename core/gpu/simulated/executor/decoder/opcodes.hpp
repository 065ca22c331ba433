// SPDX-License-Identifier: Apache-2.0
// The opcodes that the simulated GPU has.
#pragma once

#include <string_view>
#include <vector>

namespace egpu::simulated {

/// First parts of opcodes ("add", "ld"), each once. Not every combination of types and modifiers exists for each; what
/// does not is refused by name when a kernel is decoded.
std::vector<std::string_view> supported_opcodes();

}  // namespace egpu::simulated
