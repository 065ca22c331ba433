// SPDX-License-Identifier: Apache-2.0
// Instructions as text, in the notation of the Linux verifier's log ("r1 += r2", "if w3 s> 0x5 goto pc+2").
#include <fmt/format.h>

#include "ebpf/helpers/helpers.hpp"
#include "ebpf/isa/instruction.hpp"

namespace egpu::ebpf {
namespace {

const char* alu_symbol(std::uint8_t operation, bool is_signed) {
    switch (operation) {
        case kAdd:
            return "+=";
        case kSub:
            return "-=";
        case kMul:
            return "*=";
        case kDiv:
            return is_signed ? "s/=" : "/=";
        case kOr:
            return "|=";
        case kAnd:
            return "&=";
        case kLsh:
            return "<<=";
        case kRsh:
            return ">>=";
        case kMod:
            return is_signed ? "s%=" : "%=";
        case kXor:
            return "^=";
        case kMov:
            return "=";
        case kArsh:
            return "s>>=";
        default:
            return nullptr;
    }
}

const char* jump_symbol(std::uint8_t operation) {
    switch (operation) {
        case kJeq:
            return "==";
        case kJgt:
            return ">";
        case kJge:
            return ">=";
        case kJset:
            return "&";
        case kJne:
            return "!=";
        case kJsgt:
            return "s>";
        case kJsge:
            return "s>=";
        case kJlt:
            return "<";
        case kJle:
            return "<=";
        case kJslt:
            return "s<";
        case kJsle:
            return "s<=";
        default:
            return nullptr;
    }
}

const char* atomic_name(std::int32_t operation) {
    switch (operation & ~kFetch) {
        case kAdd:
            return "add";
        case kOr:
            return "or";
        case kAnd:
            return "and";
        case kXor:
            return "xor";
        default:
            return nullptr;
    }
}

std::string unknown_text(const Instruction& i) {
    return fmt::format("unknown opcode {:#04x}", i.opcode);
}

std::string alu_text(const Instruction& i) {
    const bool wide = class_of(i) == kClassAlu64;
    const char name = wide ? 'r' : 'w';
    const unsigned to = i.destination, from = i.source;
    const auto operation = operation_of(i);
    if (operation == kNeg)
        return fmt::format("{0}{1} = -{0}{1}", name, to);
    if (operation == kEnd) {
        const char* order = wide ? "bswap" : uses_register(i) ? "be" : "le";
        return fmt::format("r{0} = {1}{2} r{0}", to, order, i.immediate);
    }
    const char* symbol = alu_symbol(operation, i.offset == 1);
    if (symbol == nullptr)
        return unknown_text(i);
    if (!uses_register(i))
        return fmt::format("{}{} {} {}", name, to, symbol, i.immediate);
    if (operation == kMov && i.offset != 0)
        return fmt::format("{}{} = (s{}){}{}", name, to, i.offset, name, from);
    return fmt::format("{}{} {} {}{}", name, to, symbol, name, from);
}

std::string target_text(const Instruction& i) {
    return fmt::format("pc{:+}", jump_distance(i));
}

std::string call_text(const Instruction& i) {
    if (i.source == kPseudoCall)
        return fmt::format("call pc{:+}", i.immediate);
    const auto number = static_cast<std::uint32_t>(i.immediate);
    if (const Helper* known = helper(number))
        return fmt::format("call {}#{}", known->name, number);
    const auto linux_name = linux_helper_name(number);
    return fmt::format("call {}#{}", linux_name.empty() ? "unknown" : linux_name, number);
}

std::string jump_text(const Instruction& i) {
    const bool wide = class_of(i) == kClassJmp;
    const auto operation = operation_of(i);
    if (operation == kJa)
        return fmt::format("{} {}", wide ? "goto" : "gotol", target_text(i));
    if (wide && operation == kCallOperation)
        return call_text(i);
    if (wide && operation == kExitOperation)
        return "exit";
    const char* symbol = jump_symbol(operation);
    if (symbol == nullptr)
        return unknown_text(i);
    const char name = wide ? 'r' : 'w';
    const std::string right = uses_register(i) ? fmt::format("{}{}", name, static_cast<unsigned>(i.source))
                                               : fmt::format("{:#x}", static_cast<std::uint32_t>(i.immediate));
    return fmt::format("if {}{} {} {} goto {}", name, static_cast<unsigned>(i.destination), symbol, right,
                       target_text(i));
}

/// "*(u32 *)(r1 +8)"
std::string place_text(const Instruction& i, unsigned base, char sign = 'u') {
    return fmt::format("*({}{} *)(r{} {:+})", sign, access_bytes(i) * 8, base, i.offset);
}

std::string atomic_text(const Instruction& i) {
    const unsigned from = i.source;
    const std::string prefix = access_bytes(i) == 8 ? "atomic64" : "atomic";
    const std::string place = place_text(i, i.destination).substr(1);
    if (i.immediate == kCompareExchange)
        return fmt::format("r0 = {}_cmpxchg({}, r0, r{})", prefix, place, from);
    if (i.immediate == kExchange)
        return fmt::format("r{} = {}_xchg({}, r{})", from, prefix, place, from);
    const char* name = atomic_name(i.immediate);
    if (name == nullptr)
        return unknown_text(i);
    if ((i.immediate & kFetch) != 0)
        return fmt::format("r{} = {}_fetch_{}({}, r{})", from, prefix, name, place, from);
    return fmt::format("lock *{} {} r{}", place, alu_symbol(static_cast<std::uint8_t>(i.immediate), false), from);
}

std::string immediate64_text(const Instruction& i, const Instruction* next) {
    const auto to = static_cast<unsigned>(i.destination);
    if (i.source == kPseudoMap)
        return fmt::format("r{} = map[{}]", to, i.immediate);
    const std::uint32_t high = next == nullptr ? 0 : static_cast<std::uint32_t>(next->immediate);
    if (i.source == kPseudoMapValue)
        return fmt::format("r{} = map[{}]+{}", to, i.immediate, high);
    const auto value = (std::uint64_t{high} << 32) | static_cast<std::uint32_t>(i.immediate);
    return fmt::format("r{} = {:#x}", to, value);
}

}  // namespace

std::string to_text(const Instruction& i, const Instruction* next) {
    const unsigned to = i.destination, from = i.source;
    switch (class_of(i)) {
        case kClassAlu:
        case kClassAlu64:
            return alu_text(i);
        case kClassJmp:
        case kClassJmp32:
            return jump_text(i);
        case kClassLd:
            return i.opcode == kLoadImmediate64 ? immediate64_text(i, next) : unknown_text(i);
        case kClassLdx:
            if (mode_of(i) == kModeMem || mode_of(i) == kModeMemSigned)
                return fmt::format("r{} = {}", to, place_text(i, from, mode_of(i) == kModeMem ? 'u' : 's'));
            return unknown_text(i);
        case kClassSt:
            return mode_of(i) == kModeMem ? fmt::format("{} = {}", place_text(i, to), i.immediate) : unknown_text(i);
        default:
            if (mode_of(i) == kModeMem)
                return fmt::format("{} = r{}", place_text(i, to), from);
            return mode_of(i) == kModeAtomic ? atomic_text(i) : unknown_text(i);
    }
}

}  // namespace egpu::ebpf
