// SPDX-License-Identifier: Apache-2.0
#include "agent/kernels/content_hash.hpp"

#include <cstdlib>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#define XXH_INLINE_ALL
#include <xxhash.h>
#pragma GCC diagnostic pop

namespace egpu::agent {

namespace {

constinit ContentHash* sent = nullptr;
constinit std::size_t count = 0;
constinit std::size_t room = 0;

}  // namespace

ContentHash content_hash(std::span<const std::byte> bytes) {
    const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
    return {hash.low64, hash.high64};
}

bool was_sent(const ContentHash& hash) {
    for (std::size_t i = 0; i < count; ++i)
        if (sent[i] == hash)
            return true;
    return false;
}

void remember_sent(const ContentHash& hash) {
    if (count == room) {
        const std::size_t more = room == 0 ? 64 : room * 2;
        void* grown = std::realloc(sent, more * sizeof(ContentHash));
        if (grown == nullptr)
            return;
        sent = static_cast<ContentHash*>(grown);
        room = more;
    }
    sent[count++] = hash;
}

}  // namespace egpu::agent
