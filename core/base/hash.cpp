// SPDX-License-Identifier: Apache-2.0
#include "base/hash.hpp"

#include <cstdio>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace egpu {

ContentHash content_hash(std::span<const std::byte> bytes) {
    const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
    return {hash.low64, hash.high64};
}

std::string to_hex(const ContentHash& hash) {
    char text[33];
    std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(hash.high),
                  static_cast<unsigned long long>(hash.low));
    return text;
}

}  // namespace egpu
