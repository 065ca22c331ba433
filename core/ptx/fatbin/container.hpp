// SPDX-License-Identifier: Apache-2.0
// Fatbinary containers: their members, decompressed.
#pragma once

#include "base/result.hpp"
#include "ptx/fatbin/bytes.hpp"
#include "ptx/fatbin/image.hpp"

namespace egpu::ptx {

/// Bytes that all members of one file may decompress to. Real ones stay far below; a hostile one must not take the
/// machine's memory.
inline constexpr std::uint64_t kMostDecompressedBytes = std::uint64_t{1} << 31;

bool is_container(Bytes bytes);
/// Header and members; nullopt where the header is cut off or says more than there is.
std::optional<std::uint64_t> container_bytes(Bytes bytes);
/// `budget` is lowered by what the members decompress to.
Result<Image> read_container(Bytes bytes, std::uint64_t& budget);

}  // namespace egpu::ptx
