// SPDX-License-Identifier: Apache-2.0
// Programs made from bytes, for the soundness test and the fuzzer: whatever the verifier accepts, the reference
// interpreter runs without a fault.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ebpf/object/object.hpp"

namespace egpu::ebpf::test {

/// A text that prints two numbers, in the constants of random_object().
inline constexpr std::uint32_t kRandomText = 16, kRandomTextBytes = 7;

/// Maps of several kinds, constants, and an empty program at load_return. Map 3 is a ring buffer, also of bpf_printk.
Object random_object();

/// Instructions from bytes. An even first byte: from templates that are often accepted; an odd one: as they stand.
std::vector<Instruction> random_instructions(std::span<const std::uint8_t> bytes);

/// Verifies, and runs what is accepted on some contexts. The fault, if there was one; `accepted` says what the verifier
/// said.
std::optional<std::string> run_if_accepted(const Object& object, const Program& program, bool& accepted);

}  // namespace egpu::ebpf::test
