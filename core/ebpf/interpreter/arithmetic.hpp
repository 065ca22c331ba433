// SPDX-License-Identifier: Apache-2.0
// What an arithmetic operation or a comparison gives (RFC 9669 sections 4.1 to 4.3).
#pragma once

#include <cstdint>

#include "ebpf/isa/instruction.hpp"

namespace egpu::ebpf {

/// The new value of the destination. Of a well-formed instruction of class ALU or ALU64.
std::uint64_t arithmetic_result(const Instruction& instruction, std::uint64_t destination, std::uint64_t source);

/// Whether a conditional jump of class JMP or JMP32 is taken.
bool is_taken(const Instruction& instruction, std::uint64_t destination, std::uint64_t source);

}  // namespace egpu::ebpf
