// SPDX-License-Identifier: Apache-2.0
// Quantities as people write them: a number with its unit (TARGETS E5); a bare number is an error.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"

namespace egpu::cli {

/// "2 s", "50ms", "0 s" -> nanoseconds. `option` names it in the error (EGPU-X050).
Result<std::uint64_t> parse_duration_ns(const std::string& text, const std::string& option);
/// "64 MiB", "1GiB", "512 kB" -> bytes.
Result<std::uint64_t> parse_memory(const std::string& text, const std::string& option);

/// "20" -> 20. EGPU-X058 where it is no number of launches.
Result<std::uint32_t> parse_launches(const std::string& text, const std::string& option, std::uint32_t least);

/// "launches=1/8" -> 8, "launches=all" -> 1. EGPU-X054, with the place of what is wrong.
Result<std::uint32_t> parse_sample(const std::string& text, const std::string& option);

}  // namespace egpu::cli
