// SPDX-License-Identifier: Apache-2.0
// What can be seen of a specialised program without walking it: that its parts fit together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ebpf/specializer/specializer.hpp"

namespace egpu::ebpf {

/// A part that doesn't fit, and the instruction that shows it.
struct Misfit {
    std::uint32_t at = 0;
    std::string message;
};

/// `onward` leads from each instruction to the first needed one, whichever way a jump that was left out goes; nothing
/// is needed where the program is said to be empty.
std::optional<Misfit> misfit_in_order(const SpecializedProgram& program);

/// Slots of the stack don't overlap, neither in the frames nor in the local array, and keep the alignment.
std::optional<Misfit> misfit_in_stack(const SpecializedProgram& program);

/// The program as the verifier walks it: instructions numbered as the facts are, each copy of a function that it calls
/// called again. Without lines.
Program with_calls(const SpecializedProgram& program);

}  // namespace egpu::ebpf
