// SPDX-License-Identifier: Apache-2.0
// Ranges of versions: ">=0.1, <1".
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace egpu::host {

struct VersionBound {
    enum class Operator { less, at_most, equal, at_least, greater } op = Operator::equal;
    std::array<std::uint32_t, 3> version{};
};
/// All of them hold.
using VersionRange = std::vector<VersionBound>;

/// Bounds with commas between them, each <, <=, =, >= or > and a version of one to three numbers (missing ones are 0).
/// The error has no code.
Result<VersionRange> parse_version_range(std::string_view text);

/// True where a version ("0.1.0"; what stands behind a '-' or '+' is left out) lies in the range; false where it is no
/// version.
bool in_range(const VersionRange& range, std::string_view version);

}  // namespace egpu::host
