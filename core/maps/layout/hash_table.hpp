// SPDX-License-Identifier: Apache-2.0
// A hash map in GPU memory whose keys programs make while they run: entries in the order in which they were made, and
// buckets that name them.
//
//     | entry 0 | entry 1 | ... entry n-1 | header | buckets: a word each |
//     entry:   ready (8 bytes: 1 once the key is there) | key, padded with zeroes to 8 | value
//     header:  entries made (4) | - (4) | look-ups that found no room (8)
//     bucket:  0 free | kClaimed: its entry is being made | 1 + number of its entry
//
// Buckets are open-addressed with linear probing, and never more than half of them are taken. Nothing is ever removed.
#pragma once

#include <bit>
#include <cstdint>

#include "maps/layout/layout.hpp"

namespace egpu::maps {

struct HashTable {
    std::uint32_t key_bytes = 0, value_bytes = 0;
    std::uint32_t entries = 0;  ///< max_entries

    static constexpr std::uint32_t kClaimed = 0xffffffff;
    static constexpr std::uint32_t kReadyBytes = 8, kHeaderBytes = 16;
    static constexpr std::uint32_t kMadeOffset = 0, kNoRoomOffset = 8;  ///< in the header

    std::uint32_t key_words() const { return (key_bytes + 7) / 8; }
    std::uint32_t key_offset() const { return kReadyBytes; }
    std::uint32_t value_offset() const { return kReadyBytes + key_words() * 8; }
    std::uint32_t entry_bytes() const { return value_offset() + (value_bytes + 7) / 8 * 8; }
    std::uint64_t header_offset() const { return std::uint64_t{entry_bytes()} * entries; }
    std::uint64_t buckets_offset() const { return header_offset() + kHeaderBytes; }
    std::uint32_t buckets() const { return std::bit_ceil(entries < 2 ? 4 : entries * 2); }

    /// As one map of slots of the size of an entry; header and buckets take the last ones. `entries` is at most 2^30.
    Layout layout() const {
        const std::uint64_t bytes = buckets_offset() + std::uint64_t{4} * buckets();
        const auto slots = static_cast<std::uint32_t>((bytes + entry_bytes() - 1) / entry_bytes());
        return {entry_bytes(), entry_bytes(), slots, 1};
    }
};

}  // namespace egpu::maps
