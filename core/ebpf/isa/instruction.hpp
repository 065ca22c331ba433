// SPDX-License-Identifier: Apache-2.0
// One eBPF instruction as it stands in an object (RFC 9669 section 3).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "ebpf/helpers/helpers.hpp"

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
inline constexpr std::uint8_t kClassLd = 0x00, kClassLdx = 0x01, kClassSt = 0x02, kClassStx = 0x03, kClassAlu = 0x04,
                              kClassJmp = 0x05, kClassJmp32 = 0x06, kClassAlu64 = 0x07, kLoadImmediate64 = 0x18,
                              kCall = 0x85, kExit = 0x95;
// Upper bits of ALU and ALU64 opcodes (RFC 9669 section 4.1).
enum AluOperation : std::uint8_t {
    kAdd = 0x00,
    kSub = 0x10,
    kMul = 0x20,
    kDiv = 0x30,
    kOr = 0x40,
    kAnd = 0x50,
    kLsh = 0x60,
    kRsh = 0x70,
    kNeg = 0x80,
    kMod = 0x90,
    kXor = 0xa0,
    kMov = 0xb0,
    kArsh = 0xc0,
    kEnd = 0xd0,
};
// Upper bits of JMP and JMP32 opcodes (section 4.3).
enum JumpOperation : std::uint8_t {
    kJa = 0x00,
    kJeq = 0x10,
    kJgt = 0x20,
    kJge = 0x30,
    kJset = 0x40,
    kJne = 0x50,
    kJsgt = 0x60,
    kJsge = 0x70,
    kCallOperation = 0x80,
    kExitOperation = 0x90,
    kJlt = 0xa0,
    kJle = 0xb0,
    kJslt = 0xc0,
    kJsle = 0xd0,
};
// Upper bits of load and store opcodes (section 5).
inline constexpr std::uint8_t kModeImmediate = 0x00, kModeMem = 0x60, kModeMemSigned = 0x80, kModeAtomic = 0xc0;
/// Bit of ALU and JMP opcodes: the second operand is a register (of kEnd: to big endian).
inline constexpr std::uint8_t kSourceRegister = 0x08;
/// `immediate` of an atomic operation (section 5.3): kAdd, kOr, kAnd or kXor, with kFetch or not, or one of these.
inline constexpr std::int32_t kFetch = 0x01, kExchange = 0xe1, kCompareExchange = 0xf1;
/// Call number put in place of an access to a context field that this egpu does not have, where the program asks
/// bpf_core_field_exists() first; only reachable by a mistake.
inline constexpr std::int32_t kMissingFieldCall = 0xbad2310;

inline constexpr std::uint8_t kFramePointer = 10;

constexpr std::uint8_t class_of(const Instruction& i) {
    return i.opcode & 0x07;
}
/// AluOperation or JumpOperation, by class.
constexpr std::uint8_t operation_of(const Instruction& i) {
    return i.opcode & 0xf0;
}
constexpr bool uses_register(const Instruction& i) {
    return (i.opcode & kSourceRegister) != 0;
}
constexpr std::uint8_t mode_of(const Instruction& i) {
    return i.opcode & 0xe0;
}
/// Bytes accessed by a load, store or atomic.
constexpr std::uint32_t access_bytes(const Instruction& i) {
    constexpr std::uint8_t by_size[4] = {4, 2, 1, 8};
    return by_size[(i.opcode >> 3) & 3];
}
constexpr bool is_alu(const Instruction& i) {
    return class_of(i) == kClassAlu || class_of(i) == kClassAlu64;
}
constexpr bool is_jump_class(const Instruction& i) {
    return class_of(i) == kClassJmp || class_of(i) == kClassJmp32;
}
constexpr bool is_goto(const Instruction& i) {
    return is_jump_class(i) && operation_of(i) == kJa;
}
constexpr bool is_conditional_jump(const Instruction& i) {
    return is_jump_class(i) && operation_of(i) != kJa && operation_of(i) != kCallOperation &&
           operation_of(i) != kExitOperation;
}
/// Distance of a jump, from the next instruction.
constexpr std::int64_t jump_distance(const Instruction& i) {
    return is_goto(i) && class_of(i) == kClassJmp32 ? i.immediate : i.offset;
}

/// `source` of a 64-bit immediate load after relocation by ebpf/object: immediate = index into Object::maps.
inline constexpr std::uint8_t kPseudoMap = 1;
/// ... = address in a map's value (global data): immediate = map index, next instruction's immediate = byte offset.
inline constexpr std::uint8_t kPseudoMapValue = 2;
/// `source` of a call: 0 helper by number, 1 local function (immediate = relative instruction), RFC 9669 4.3.
inline constexpr std::uint8_t kPseudoCall = 1;

/// The helper that an instruction calls; nullptr where it calls none that is offered.
inline const Helper* called_helper(const Instruction& i) {
    return i.opcode == kCall && i.source == 0 ? helper(static_cast<std::uint32_t>(i.immediate)) : nullptr;
}

/// "r1 += r2", in the Linux verifier's notation; `next` is the second half of a 64-bit immediate load.
std::string to_text(const Instruction& instruction, const Instruction* next = nullptr);

/// Well-formedness of every instruction: known opcode, unused fields zero, jumps inside and not into the middle of a
/// 64-bit load, last instruction exits or jumps (RFC 9669; EGPU-V001).
Status check_encoding(std::span<const Instruction> program);

/// The conformance suite's mnemonics ("mov %r0, 1", "ldxdw %r0, [%r1+8]", labels) to instructions.
Result<std::vector<Instruction>> assemble(const std::string& text);

}  // namespace egpu::ebpf
