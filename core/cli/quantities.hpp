// SPDX-License-Identifier: Apache-2.0
// Quantities as people write them: a number with its unit (TARGETS E5); a bare number is an error.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "base/sampling.hpp"

namespace egpu::cli {

/// "2 s", "50ms", "0 s" -> nanoseconds. `option` names it in the error (EGPU-X050).
Result<std::uint64_t> parse_duration_ns(const std::string& text, const std::string& option);
/// "64 MiB", "1GiB", "512 kB" -> bytes.
Result<std::uint64_t> parse_memory(const std::string& text, const std::string& option);

/// "20" -> 20. EGPU-X058 where it is no number of launches.
Result<std::uint32_t> parse_launches(const std::string& text, const std::string& option, std::uint32_t least);

struct GivenSample {
    std::optional<std::uint32_t> launches;  ///< one in so many
    std::optional<Sampling> part;           ///< of a launch
};
/// "launches=1/8", "warps=1/64", "launches=1/8,blocks=1/2", "warps=all". EGPU-X054, with the place of what is wrong.
Result<GivenSample> parse_sample(const std::string& text, const std::string& option);

}  // namespace egpu::cli
