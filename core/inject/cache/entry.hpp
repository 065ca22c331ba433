// SPDX-License-Identifier: Apache-2.0
// One entry as bytes.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "base/sha256.hpp"
#include "inject/compile/compile.hpp"

namespace egpu::inject {

std::vector<std::byte> to_entry(const Sha256Digest& key, const Compiled& compiled);
/// nullopt where a byte is missing, added or changed, or it is another key's.
std::optional<Compiled> from_entry(const Sha256Digest& key, std::span<const std::byte> bytes);

}  // namespace egpu::inject
