// SPDX-License-Identifier: Apache-2.0
// Quantities as people write them: a number with its unit ("64 MiB", "20 Hz", "1.2 TB/s", "1/64"; TARGETS E5). Where a
// unit is needed a bare number is an error.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.hpp"

namespace egpu {

/// What a quantity measures. Memory has binary and decimal prefixes, a rate is bytes a second.
enum class Dimension { number, bytes, rate, duration, cycles, share };

/// "count", "bytes", "bytes_per_s", "ns", "cycles", "ratio": a dimension's unit in JSON.
const char* base_unit(Dimension dimension);

/// A number in the base unit of its dimension (bytes, bytes a second, nanoseconds, cycles; a share is 1 for 100 %).
/// 64 bits of mantissa: every count fits without loss.
using Quantity = long double;

/// "2 s", "50ms", "1.2 TB/s", "134 217 728 B" ... What is wrong stands alone in the error's message ("needs a unit"),
/// how to write it in its hint; its code is empty, the caller knows what it read.
Result<Quantity> parse_quantity(std::string_view text, Dimension dimension);

/// A quantity as people read it: "1.20 TB/s", "64 MiB".
std::string format_quantity(Quantity value, Dimension dimension);

/// Two quantities as people read them; where they differ and would look alike, with as many digits as tell them apart:
/// "12 582 913 B" and "12 582 912 B".
std::pair<std::string, std::string> format_apart(Quantity first, Quantity second, Dimension dimension);

/// Which dimension a unit belongs to: "TB/s" -> rate; number where the text has none. Errors as parse_quantity.
Result<Dimension> dimension_of(std::string_view text);

/// "1/64" -> 64.
Result<std::uint32_t> parse_share(std::string_view text);

/// A whole number, 0 to 2^64 - 1.
Result<std::uint64_t> parse_whole(std::string_view text);

}  // namespace egpu
