// SPDX-License-Identifier: Apache-2.0
// A program with its local calls written out in place: one graph of jumps, each instruction with its call depth.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "ebpf/object/object.hpp"

namespace egpu::ebpf::specializer {

/// A local call has become a jump to a copy of the function one frame deeper, the copy's exits jumps to what follows
/// the call. Registers r0 to r5 pass through; r6 to r9 and r10 belong to the frame (`depth`), so nothing is saved.
struct ExpandedProgram {
    std::vector<Instruction> instructions;
    std::vector<std::uint32_t> origin;  ///< index in Program::instructions
    std::vector<std::uint8_t> depth;    ///< 0: the program itself

    std::uint32_t size() const { return static_cast<std::uint32_t>(instructions.size()); }
    /// True for the second half of a 64-bit immediate load.
    bool is_second_half(std::uint32_t at) const { return at > 0 && instructions[at - 1].opcode == kLoadImmediate64; }
    std::uint32_t next(std::uint32_t at) const { return at + (instructions[at].opcode == kLoadImmediate64 ? 2 : 1); }
    /// Where a jump goes; only for jumps.
    std::uint32_t target(std::uint32_t at) const {
        return static_cast<std::uint32_t>(static_cast<std::int64_t>(at) + 1 + jump_distance(instructions[at]));
    }
};

/// EGPU-V053: recursion, calls deeper than kMaxFrames, or too long when written out. Wants check_encoding to have
/// passed.
Result<ExpandedProgram> expand_calls(const Program& program);

}  // namespace egpu::ebpf::specializer
