// SPDX-License-Identifier: Apache-2.0
// The build id, computed by the compiler.
#include "segment/layout/build_id.h"

#include <cstdint>

#include "segment/layout/layout.h"

namespace {

// FNV-1a, 64 bits (draft-eastlake-fnv): an identity, not a secret.
constexpr std::uint64_t kOffsetBasis = 0xcbf29ce484222325u;
constexpr std::uint64_t kPrime = 0x100000001b3u;

constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
    for (int byte = 0; byte < 8; ++byte)
        hash = (hash ^ ((value >> (8 * byte)) & 0xff)) * kPrime;
    return hash;
}

constexpr std::uint64_t compute() {
    std::uint64_t hash = kOffsetBasis;
    for (const char* c = EGPU_VERSION; *c != '\0'; ++c)
        hash = mix(hash, static_cast<unsigned char>(*c));
    const std::uint64_t constants[] = {EGPU_SEGMENT_LAYOUT,         EGPU_SEGMENT_MAX_MAPS, EGPU_SEGMENT_MAX_KERNELS,
                                       sizeof(egpu_segment_header), sizeof(egpu_ring),     sizeof(egpu_kernel_counters),
                                       sizeof(egpu_map_entry)};
    for (const std::uint64_t constant : constants)
        hash = mix(hash, constant);
    return hash;
}

}  // namespace

uint64_t egpu_segment_build_id(void) {
    constexpr std::uint64_t id = compute();
    return id;
}
