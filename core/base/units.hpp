// SPDX-License-Identifier: Apache-2.0
// Numbers as people read them: "134.2 GB", "63.4 us", "1 000". Decimal prefixes for bytes moved,
// binary for memory sizes.
#pragma once

#include <cstdint>
#include <string>

namespace egpu {

/// Bytes moved, decimal prefixes, four significant digits at most: "512 B", "8.39 MB", "134.2 GB".
std::string format_bytes(double bytes);
/// A size of memory, binary prefixes: "64 MiB", "1.5 KiB".
std::string format_memory(std::uint64_t bytes);
/// A rate: "3.18 TB/s".
std::string format_rate(double bytes_per_second);
/// A duration: "31 ns", "63.4 us", "1.42 s".
std::string format_duration_ns(double nanoseconds);
/// A count with groups of three: "1 000", "134 217 728 000".
std::string format_count(std::uint64_t count);
/// A share: "12.5 %".
std::string format_percent(double fraction);

}  // namespace egpu
