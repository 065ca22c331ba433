// SPDX-License-Identifier: Apache-2.0
// Arithmetic of RFC 9669 section 4.1 on numbers and on what is known of them.
#pragma once

#include <cstdint>

#include "ebpf/isa/instruction.hpp"
#include "ebpf/verifier/domain/scalar.hpp"

namespace egpu::ebpf {

/// Operation codes as isa names them: kAdd to kEnd, and kJeq to kJsle.
using AluCode = std::uint8_t;
using JumpCode = std::uint8_t;

enum class Width : std::uint8_t { bits32, bits64 };

/// The result for two numbers. `is_signed`: the signed division and modulo of ISA v4.
std::uint64_t evaluate(AluCode operation, Width width, bool is_signed, std::uint64_t a, std::uint64_t b);

/// Every result that two numbers out of `a` and `b` can have (negation takes `b` as 0 and `a` as its operand).
Scalar compute(AluCode operation, Width width, bool is_signed, const Scalar& a, const Scalar& b);

/// The low `bits` (8, 16, 32) of a number, sign-extended; with Width::bits32 the upper half becomes zero.
Scalar sign_extend(const Scalar& a, unsigned bits, Width width);
/// The low 32 bits, zero-extended (a 32-bit move).
Scalar low_word(const Scalar& a);
/// Truncation to 16, 32 or 64 bits, with the bytes reversed where `swap`.
Scalar byte_order(const Scalar& a, unsigned bits, bool swap);

}  // namespace egpu::ebpf
