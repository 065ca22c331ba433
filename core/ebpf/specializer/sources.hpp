// SPDX-License-Identifier: Apache-2.0
// What a value that is known only at run time depends on, as a set of bits, and its words for messages.
#pragma once

#include <cstdint>
#include <string>

#include "ebpf/events/events.hpp"

namespace egpu::ebpf::specializer {

// Bits 0 to 39: the field of that index in context_fields().
inline constexpr std::uint32_t kFieldBits = 40;
inline constexpr std::uint64_t kFromClock = std::uint64_t{1} << 40;
inline constexpr std::uint64_t kFromMap = std::uint64_t{1} << 41;
inline constexpr std::uint64_t kFromMovedValue = std::uint64_t{1} << 42;
inline constexpr std::uint64_t kFromArgument = std::uint64_t{1} << 43;
inline constexpr std::uint64_t kFromSm = std::uint64_t{1} << 44;
inline constexpr std::uint64_t kFromStack = std::uint64_t{1} << 45;  ///< bytes of the stack at an unknown offset
inline constexpr std::uint64_t kFromRandom = std::uint64_t{1} << 46;

std::uint64_t source_bit(const ContextField& field);
/// "`sm`", "`sm` and `lane`", "the clock"; "a value that differs between paths" for an empty set.
std::string describe_sources(std::uint64_t sources);

}  // namespace egpu::ebpf::specializer
