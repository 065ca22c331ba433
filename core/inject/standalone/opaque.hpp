// SPDX-License-Identifier: Apache-2.0
// A program that means the same and of which nothing is known before it runs: for trying code that a specialiser would
// otherwise fold away.
#pragma once

#include <vector>

#include "ebpf/isa/instruction.hpp"

namespace egpu::inject {

/// The program with each number that it sets a register to hidden: a zero that the GPU supplies, kept at the bottom of
/// each function's frame, plus the number. Uses the lowest 16 bytes of each frame; well-formed programs only.
std::vector<ebpf::Instruction> with_hidden_constants(const std::vector<ebpf::Instruction>& program);

}  // namespace egpu::inject
