// SPDX-License-Identifier: Apache-2.0
// Tree to text, for proofs: what the parser understood, said again.
#pragma once

#include <string>

#include "ptx/syntax/tree.hpp"

namespace egpu::ptx {

/// The module's program, written from the tree alone: opcodes from their parts, operands from their kind, numbers from
/// their value, declarations from their members. Only what the tree itself keeps as text (operands of kind `other`,
/// directives, names) is taken from the text. Comments and layout are gone.
///
///   before:  @!%p ld .global.v2.f32 {%f1,%f2}, [ %rd1 - 0x10 ]; // here
///   after:   @!%p ld.global.v2.f32 {%f1, %f2}, [%rd1+-16];
///
/// Nothing that egpu gives to a compiler is made this way (edit.hpp is); `egpu inject --identity` compares the program
/// of this text with the original's, so that whatever the parser loses or takes for something else shows.
std::string print(const Module& module);

std::string print(const Operand& operand);
std::string print(const Variable& variable);

}  // namespace egpu::ptx
