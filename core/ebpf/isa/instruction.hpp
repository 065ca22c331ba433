// SPDX-License-Identifier: Apache-2.0
// One eBPF instruction as it stands in an object (RFC 9669 section 3).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace egpu::ebpf {

/// 8 bytes; a 64-bit immediate load takes two, the second with opcode 0.
struct Instruction {
    std::uint8_t opcode = 0;
    std::uint8_t destination : 4 = 0;
    std::uint8_t source : 4 = 0;
    std::int16_t offset = 0;
    std::int32_t immediate = 0;
    bool operator==(const Instruction&) const = default;
};
static_assert(sizeof(Instruction) == 8);

// Classes and operation codes, RFC 9669 sections 3 to 5.
enum : std::uint8_t {
    kClassLd = 0x00, kClassLdx = 0x01, kClassSt = 0x02, kClassStx = 0x03,
    kClassAlu = 0x04, kClassJmp = 0x05, kClassJmp32 = 0x06, kClassAlu64 = 0x07,
    kLoadImmediate64 = 0x18, kCall = 0x85, kExit = 0x95,
};
/// `source` of a 64-bit immediate load after relocation by ebpf/object: immediate = index into Object::maps.
inline constexpr std::uint8_t kPseudoMap = 1;
/// ... = address in a map's value (global data): immediate = map index, next instruction's immediate = byte offset.
inline constexpr std::uint8_t kPseudoMapValue = 2;
/// `source` of a call: 0 helper by number, 1 local function (immediate = relative instruction), RFC 9669 4.3.
inline constexpr std::uint8_t kPseudoCall = 1;

/// "r1 += r2", in the Linux verifier's notation; `next` is the second half of a 64-bit immediate load.
std::string to_text(const Instruction& instruction, const Instruction* next = nullptr);

/// Well-formedness of every instruction: known opcode, unused fields zero, jumps inside and not into the middle of a
/// 64-bit load, last instruction exits or jumps (RFC 9669; EGPU-V001).
Status check_encoding(std::span<const Instruction> program);

/// The conformance suite's mnemonics ("mov %r0, 1", "ldxdw %r0, [%r1+8]", labels) to instructions.
Result<std::vector<Instruction>> assemble(const std::string& text);

}  // namespace egpu::ebpf
