// SPDX-License-Identifier: Apache-2.0
// The graph of a program's instructions: where paths meet, which registers are still read, where branches rejoin.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ebpf/isa/instruction.hpp"

namespace egpu::ebpf {

struct Flow {
    static constexpr std::uint32_t kFunctionEnd = 0xffffffffu;

    std::vector<std::uint8_t> is_meeting;    ///< several paths come here: jump targets, functions, behind calls of them
    std::vector<std::uint32_t> back_edge;    ///< of a loop's start: the last jump back to it; else kFunctionEnd
    std::vector<std::uint8_t> in_loop;       ///< may lie on a cycle: each has a jump back from behind it or from it
    std::vector<std::uint16_t> live;         ///< bit n: rn may be read from here on
    std::vector<std::uint64_t> live_fields;  ///< bit n: context_fields()[n] may be read by its offset from here on
    std::vector<std::uint32_t> join;         ///< of conditional jumps: where all their paths meet again
    std::vector<std::uint8_t> names_again;   ///< a lookup or atomic that may be passed more than once lies ahead, here
                                             ///< or in what is called, not counting what returning leads to
    std::vector<std::uint32_t> function;     ///< first instruction of the function each belongs to
    std::vector<std::uint32_t> functions;    ///< first instructions, ascending; 0 is the program
};

/// Registers that an instruction reads and writes (bit n: rn); of the program itself, or of a function that it calls.
struct RegisterUse {
    std::uint16_t reads = 0, writes = 0;
};
RegisterUse use_of(const Instruction& instruction, bool in_main);

/// The instruction a jump or a local call goes to.
std::uint32_t target_of(const Instruction& instruction, std::uint32_t at);
bool is_local_call(const Instruction& instruction);

/// Of instructions that passed check_encoding().
Flow analyse_flow(std::span<const Instruction> program);

}  // namespace egpu::ebpf
