// SPDX-License-Identifier: Apache-2.0
// Sizes of PTX's fundamental and packed types: PTX ISA 9.0, sections 5.2 and 9.7.
#pragma once

#include <cstdint>
#include <string_view>

namespace egpu::ptx {

/// Bytes of a type without its dot ("f32" -> 4, "bf16x2" -> 4, "pred" -> 1); 0 for an unknown one.
std::uint32_t scalar_bytes(std::string_view type);

}  // namespace egpu::ptx
