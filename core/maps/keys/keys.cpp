// SPDX-License-Identifier: Apache-2.0
#include "maps/keys/keys.hpp"

#include <cstring>

namespace egpu::maps {

std::optional<std::uint32_t> KeyTable::slot_of(std::span<const std::byte> key) {
    if (key.size() != key_bytes_)
        return std::nullopt;
    if (is_array_) {
        std::uint32_t index = 0;
        if (key.size() != sizeof index)
            return std::nullopt;
        std::memcpy(&index, key.data(), sizeof index);
        return index < capacity_ ? std::optional(index) : std::nullopt;
    }
    std::vector<std::byte> bytes(key.begin(), key.end());
    if (const auto found = slots_.find(bytes); found != slots_.end())
        return found->second;
    if (keys_.size() >= capacity_) {
        ++refused_;
        return std::nullopt;
    }
    const auto slot = static_cast<std::uint32_t>(keys_.size());
    keys_.push_back(bytes);
    slots_.emplace(std::move(bytes), slot);
    return slot;
}

}  // namespace egpu::maps
