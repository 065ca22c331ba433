// SPDX-License-Identifier: Apache-2.0
// Which slot a key of a map has: given out in order of first use, by the egpu process, for static keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace egpu::maps {

/// Slots of one map. An array's keys are their index and exist from the start; a hash's are made on first use.
class KeyTable {
public:
    KeyTable(bool is_array, std::uint32_t key_bytes, std::uint32_t capacity)
        : is_array_(is_array), key_bytes_(key_bytes), capacity_(capacity) {}

    /// The slot of a key, made where absent; nullopt where the map is full (counted) or an array's index is outside.
    std::optional<std::uint32_t> slot_of(std::span<const std::byte> key);
    std::uint32_t used() const { return is_array_ ? capacity_ : static_cast<std::uint32_t>(keys_.size()); }
    std::uint64_t refused() const { return refused_; }
    /// Keys in the order of their slots (hash maps).
    const std::vector<std::vector<std::byte>>& keys() const { return keys_; }

private:
    bool is_array_;
    std::uint32_t key_bytes_;
    std::uint32_t capacity_;
    std::uint64_t refused_ = 0;
    std::map<std::vector<std::byte>, std::uint32_t> slots_;
    std::vector<std::vector<std::byte>> keys_;
};

}  // namespace egpu::maps
