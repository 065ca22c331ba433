// SPDX-License-Identifier: Apache-2.0
// Which instructions still have to be executed once everything known is folded.
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <vector>

#include "ebpf/specializer/specializer.hpp"
#include "ebpf/specializer/state.hpp"

namespace egpu::ebpf::specializer {

/// Bytes of the stack at known places that an instruction reads or writes at run time.
struct StackUse {
    std::uint32_t depth = 0;
    std::int64_t offset = 0;
    std::uint32_t bytes = 0;
    bool whole_frame = false;  ///< at an offset known only at run time
    bool reads = false, writes = false;
};

/// What executing an instruction at run time needs and gives.
struct RunTimeUse {
    std::bitset<kVariables> reads, writes;
    std::vector<StackUse> stack;
    bool has_effect = false;  ///< outside registers and stack: a store to a map
};

/// Registers whose value is known at the instruction are not read: the code names the value.
RunTimeUse run_time_use(const SpecializedProgram& program, std::uint32_t at);

/// Sets InstructionFacts::needed. Conditional jumps whose both ways do the same are not needed. False where the program
/// is too complex.
bool mark_needed(SpecializedProgram& program);

}  // namespace egpu::ebpf::specializer
