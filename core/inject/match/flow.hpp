// SPDX-License-Identifier: Apache-2.0
// Control flow of one function: how deep in loops each statement stands, and which instructions leave it.
#pragma once

#include <cstdint>
#include <vector>

#include "inject/match/outline.hpp"

namespace egpu::inject {

/// How an instruction continues.
enum class Continuation { next, branch, indexed_branch, leave };
Continuation continuation_of(const ptx::Instruction& instruction);

/// Loop depth of every item of the outline, 0 outside of loops. A function whose loop structure takes too long to find
/// out (hostile input) has depth 0 everywhere: the depth only says which sums are worth a register.
std::vector<std::uint32_t> loop_depths(const Outline& outline);

/// True where control can reach the closing brace of the body (PTX ISA 9.7.12: leaving an entry this way is an exit).
bool may_fall_off_the_end(const Outline& outline);

}  // namespace egpu::inject
