// SPDX-License-Identifier: Apache-2.0
// 128-bit content hash (XXH3): names images and cached copies. Not for secrets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace egpu {

struct ContentHash {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    auto operator<=>(const ContentHash&) const = default;
};

ContentHash content_hash(std::span<const std::byte> bytes);
std::string to_hex(const ContentHash& hash);

}  // namespace egpu
