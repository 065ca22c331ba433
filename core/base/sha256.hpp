// SPDX-License-Identifier: Apache-2.0
// SHA-256 (FIPS 180-4): names what must not be mistaken for something else, whoever wrote it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace egpu {

using Sha256Digest = std::array<std::uint8_t, 32>;

/// A digest of bytes that come in pieces.
class Sha256 {
public:
    void add(std::span<const std::byte> bytes);
    void add(std::string_view text);
    /// Of all that was added; nothing may be added afterwards.
    Sha256Digest finish();

private:
    void compress(const std::uint8_t* block);

    std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                        0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    std::array<std::uint8_t, 64> block_{};
    std::size_t used_ = 0;  ///< bytes in block_
    std::uint64_t total_ = 0;
};

std::string to_hex(const Sha256Digest& digest);

}  // namespace egpu
