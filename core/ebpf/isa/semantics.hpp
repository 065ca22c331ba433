// SPDX-License-Identifier: Apache-2.0
// What an arithmetic operation, a comparison or an atomic gives on known numbers (RFC 9669 sections 4.1 to 5.3): the
// interpreter executes by it, the specialiser folds by it, the verifier computes its constants with it.
#pragma once

#include <cstdint>

#include "ebpf/isa/instruction.hpp"

namespace egpu::ebpf {

/// The low `bytes` (1 to 8) of a number, zero- or sign-extended.
std::uint64_t truncated(std::uint64_t number, std::uint32_t bytes);
std::uint64_t sign_extended(std::uint64_t number, std::uint32_t bytes);

/// The low `bits` (16, 32 or 64) of a number, with their bytes in the other order where `swap`.
std::uint64_t in_byte_order(std::uint64_t number, unsigned bits, bool swap);

/// `operation` of AluOperation but kEnd, on 64 bits or on the low 32 with a zero-extended result; kMov gives b.
std::uint64_t operation_result(std::uint8_t operation, bool is_signed, bool is_64_bits, std::uint64_t a,
                               std::uint64_t b);

/// `comparison` of JumpOperation, on 64 bits or on the low 32; false for what compares nothing.
bool comparison_holds(std::uint8_t comparison, bool is_64_bits, std::uint64_t a, std::uint64_t b);

/// The new value of the destination. Of a well-formed instruction of class ALU or ALU64; `source` is the source
/// register or the immediate, sign-extended to 64 bits.
std::uint64_t arithmetic_result(const Instruction& instruction, std::uint64_t destination, std::uint64_t source);

/// What an atomic operation (section 5.3) other than compare-and-exchange leaves in `bytes` (4 or 8) of memory.
std::uint64_t atomic_result(std::int32_t operation, std::uint64_t memory, std::uint64_t operand, std::uint32_t bytes);

/// Whether a conditional jump of class JMP or JMP32 is taken.
bool is_taken(const Instruction& instruction, std::uint64_t destination, std::uint64_t source);

}  // namespace egpu::ebpf
