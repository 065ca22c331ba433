// SPDX-License-Identifier: Apache-2.0
// Arithmetic and comparisons on known values, exactly as RFC 9669 sections 4.1 to 4.3 define them.
#pragma once

#include <cstdint>

#include "ebpf/isa/instruction.hpp"

namespace egpu::ebpf::specializer {

/// Result of an ALU instruction (moves, byte swaps and negation included) for known operands; `b` is the source
/// register or the immediate, sign-extended to 64 bits.
std::uint64_t evaluate_alu(const Instruction& instruction, std::uint64_t a, std::uint64_t b);
/// Whether a conditional jump is taken.
bool evaluate_jump(const Instruction& instruction, std::uint64_t a, std::uint64_t b);
/// What an atomic operation other than exchange and compare-and-exchange leaves in memory; `bytes` 4 or 8.
std::uint64_t evaluate_atomic(std::int32_t operation, std::uint64_t memory, std::uint64_t operand, std::uint32_t bytes);
/// The low `bytes` of a number, zero- or sign-extended.
std::uint64_t truncated(std::uint64_t number, std::uint32_t bytes);
std::uint64_t sign_extended(std::uint64_t number, std::uint32_t bytes);

}  // namespace egpu::ebpf::specializer
