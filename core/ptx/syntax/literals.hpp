// SPDX-License-Identifier: Apache-2.0
// Values of PTX literals: PTX ISA 9.0, section 4.5.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace egpu::ptx {

/// "16", "0x10", "020", "0b10000", each with or without a closing U; nullopt where it is none or needs over 64 bits.
std::optional<std::uint64_t> integer_value(std::string_view text);

struct FloatingValue {
    std::uint64_t bits = 0;  ///< IEEE 754, in the low `width` bits
    int width = 64;          ///< 32 for 0f..., else 64
};

/// "0f3F800000", "0d3FF0000000000000", "1.5", "1e5"; nullopt where it is none.
std::optional<FloatingValue> floating_value(std::string_view text);

}  // namespace egpu::ptx
