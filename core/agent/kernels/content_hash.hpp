// SPDX-License-Identifier: Apache-2.0
// XXH3-128 of an image, and which images the egpu process has got already.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace egpu::agent {

struct ContentHash {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    bool operator==(const ContentHash&) const = default;
};

/// The same value as egpu::content_hash; compiled in, so that the application gets no library from us.
ContentHash content_hash(std::span<const std::byte> bytes);

/// Under the load lock. Where memory is short the image's bytes are sent again, no more.
bool was_sent(const ContentHash& hash);
void remember_sent(const ContentHash& hash);

}  // namespace egpu::agent
