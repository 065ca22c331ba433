// SPDX-License-Identifier: Apache-2.0
// Little-endian reads from bytes that nobody vouches for: what is out of reach reads as nothing (parts of ptx/fatbin).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

namespace egpu::ptx {

using Bytes = std::span<const std::byte>;

/// The part [offset, offset + size), nullopt where it isn't wholly inside.
inline std::optional<Bytes> part_of(Bytes bytes, std::uint64_t offset, std::uint64_t size) {
    if (offset > bytes.size() || size > bytes.size() - offset)
        return std::nullopt;
    return bytes.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(size));
}

/// An integer at an offset; 0 where it isn't wholly inside. Callers check the size of the structure first.
template <typename T>
T read_at(Bytes bytes, std::uint64_t offset) {
    T value{};
    if (const auto part = part_of(bytes, offset, sizeof(T)))
        std::memcpy(&value, part->data(), sizeof(T));
    return value;
}

inline std::string_view as_text(Bytes bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The NUL-terminated text at an offset of a string table; empty where it is out of reach or has no end.
inline std::string_view text_at(Bytes table, std::uint64_t offset) {
    if (offset >= table.size())
        return {};
    const std::string_view rest = as_text(table).substr(static_cast<std::size_t>(offset));
    const std::size_t end = rest.find('\0');
    return end == std::string_view::npos ? std::string_view() : rest.substr(0, end);
}

}  // namespace egpu::ptx
