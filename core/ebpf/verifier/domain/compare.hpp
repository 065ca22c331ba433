// SPDX-License-Identifier: Apache-2.0
// What a conditional jump tells of the numbers it compared (RFC 9669 section 4.3).
#pragma once

#include <cstdint>

#include "ebpf/verifier/domain/arithmetic.hpp"
#include "ebpf/verifier/domain/scalar.hpp"

namespace egpu::ebpf {

bool evaluate(JumpCode comparison, Width width, std::uint64_t a, std::uint64_t b);

/// Narrows both operands to the pairs for which the comparison has this outcome; false where there is none.
[[nodiscard]] bool assume(JumpCode comparison, Width width, bool outcome, Scalar& a, Scalar& b);

}  // namespace egpu::ebpf
