// SPDX-License-Identifier: Apache-2.0
// Is every instruction one that RFC 9669 defines, with its unused fields zero, and does control stay inside the
// program?
#include <vector>

#include <fmt/format.h>

#include "ebpf/isa/instruction.hpp"

namespace egpu::ebpf {
namespace {

/// Longest program accepted; the Linux verifier's bound on what it walks.
constexpr std::size_t kMaxInstructions = 1'000'000;

// Each check gives what is wrong with one instruction, nullptr where nothing is.
using Wrong = const char*;
constexpr Wrong kUnknown = "is not an instruction of RFC 9669";
constexpr Wrong kCallThroughRegister = "is a call through a register, which is not part of RFC 9669";
constexpr Wrong kCallByBtf = "calls a function of the Linux kernel by its BTF id";
constexpr Wrong kPacketAccess = "is a packet access (deprecated in RFC 9669) or unknown";
constexpr Wrong kAddressOfLinux = "loads an address that only the Linux kernel can give";
constexpr Wrong kNarrowAtomic = "is an atomic operation of neither 4 nor 8 bytes";
constexpr Wrong kFallsThrough = "is the last of its function, and neither exits nor jumps";

Wrong check_end(const Instruction& i) {
    if (class_of(i) == kClassAlu64 && uses_register(i))
        return kUnknown;
    if (i.source != 0 || i.offset != 0)
        return "has a source or an offset, which byte swaps don't use";
    return i.immediate == 16 || i.immediate == 32 || i.immediate == 64 ? nullptr : "swaps neither 16, 32 nor 64 bits";
}

Wrong check_move(const Instruction& i) {
    if (!uses_register(i))
        return i.offset == 0 ? nullptr : "has an offset, which this move doesn't use";
    const bool wide = class_of(i) == kClassAlu64;
    return i.offset == 0 || i.offset == 8 || i.offset == 16 || (wide && i.offset == 32)
               ? nullptr
               : "extends the sign of neither 8, 16 nor 32 bits";
}

Wrong check_alu(const Instruction& i) {
    const auto operation = operation_of(i);
    if (operation > kEnd || (operation == kNeg && uses_register(i)))
        return kUnknown;
    if (operation == kEnd)
        return check_end(i);
    if (operation == kNeg)
        return i.source == 0 && i.offset == 0 && i.immediate == 0 ? nullptr
                                                                  : "has a field set that negation doesn't use";
    if (uses_register(i) ? i.immediate != 0 : i.source != 0)
        return uses_register(i) ? "has an immediate, which its register form doesn't use"
                                : "has a source register, which its immediate form doesn't use";
    if (operation == kMov)
        return check_move(i);
    if (operation == kDiv || operation == kMod)
        return i.offset == 0 || i.offset == 1 ? nullptr : "has an offset that is neither 0 (unsigned) nor 1 (signed)";
    return i.offset == 0 ? nullptr : "has an offset, which it doesn't use";
}

Wrong check_goto(const Instruction& i) {
    if (uses_register(i))
        return kUnknown;
    const bool distance_in_immediate = class_of(i) == kClassJmp32;
    const bool clean = i.destination == 0 && i.source == 0 && (distance_in_immediate ? i.offset : i.immediate) == 0;
    return clean ? nullptr : "has a field set that a jump doesn't use";
}

Wrong check_call(const Instruction& i) {
    if (class_of(i) == kClassJmp32 || uses_register(i))
        return kCallThroughRegister;
    if (i.destination != 0 || i.offset != 0)
        return "has a field set that a call doesn't use";
    return i.source <= kPseudoCall ? nullptr : kCallByBtf;
}

Wrong check_jump(const Instruction& i) {
    const auto operation = operation_of(i);
    if (operation > kJsle)
        return kUnknown;
    if (operation == kJa)
        return check_goto(i);
    if (operation == kCallOperation)
        return check_call(i);
    if (operation == kExitOperation) {
        if (i.opcode != kExit)
            return kUnknown;
        return i.destination == 0 && i.source == 0 && i.offset == 0 && i.immediate == 0
                   ? nullptr
                   : "has a field set that exit doesn't use";
    }
    if (uses_register(i) ? i.immediate != 0 : i.source != 0)
        return "has a field set that this form of the jump doesn't use";
    return nullptr;
}

Wrong check_atomic(const Instruction& i) {
    if (access_bytes(i) < 4)
        return kNarrowAtomic;
    switch (i.immediate) {
        case kAdd:
        case kAdd | kFetch:
        case kOr:
        case kOr | kFetch:
        case kAnd:
        case kAnd | kFetch:
        case kXor:
        case kXor | kFetch:
        case kExchange:
        case kCompareExchange:
            return nullptr;
        default:
            return "is an atomic operation that RFC 9669 doesn't define";
    }
}

Wrong check_memory(const Instruction& i) {
    const auto mode = mode_of(i);
    switch (class_of(i)) {
        case kClassLdx:
            if (mode != kModeMem && !(mode == kModeMemSigned && access_bytes(i) < 8))
                return kUnknown;
            return i.immediate == 0 ? nullptr : "has an immediate, which a load doesn't use";
        case kClassSt:
            if (mode != kModeMem)
                return kUnknown;
            return i.source == 0 ? nullptr : "has a source register, which a store of an immediate doesn't use";
        default:
            if (mode == kModeAtomic)
                return check_atomic(i);
            if (mode != kModeMem)
                return kUnknown;
            return i.immediate == 0 ? nullptr : "has an immediate, which a store of a register doesn't use";
    }
}

Wrong check_immediate64(const Instruction& i, const Instruction* next) {
    if (i.opcode != kLoadImmediate64)
        return kPacketAccess;
    if (next == nullptr)
        return "is the first half of a 64-bit immediate load, and the program ends there";
    if (next->opcode != 0 || next->destination != 0 || next->source != 0 || next->offset != 0)
        return "is followed by something else than the second half of a 64-bit immediate load";
    if (i.offset != 0)
        return "has an offset, which a 64-bit immediate load doesn't use";
    if (i.source > kPseudoMapValue)
        return kAddressOfLinux;
    return i.source == kPseudoMap && next->immediate != 0 ? "names a map, and has a second immediate" : nullptr;
}

Wrong check_one(const Instruction& i, const Instruction* next) {
    if (i.destination > kFramePointer || i.source > kFramePointer)
        return "names a register above r10";
    switch (class_of(i)) {
        case kClassLd:
            return check_immediate64(i, next);
        case kClassAlu:
        case kClassAlu64:
            return check_alu(i);
        case kClassJmp:
        case kClassJmp32:
            return check_jump(i);
        default:
            return check_memory(i);
    }
}

struct Advice {
    Wrong wrong;
    const char *why, *fix;
};

constexpr const char* kDamaged =
    "compile the program again with clang -target bpf; if it stays, the object is damaged, or of another compiler";

/// What a program in C can do about; of all else, a compiler never makes it.
constexpr Advice kAdvice[] = {
    {kCallThroughRegister,
     "where such a call goes is known only when the program runs (RFC 9669 section 4.3.1 has none)",
     "call the function by its name, not through a pointer; clang -O2 makes such calls direct"},
    {kCallByBtf, "kfuncs are functions inside the Linux kernel (RFC 9669 section 4.3.1); a GPU has no kernel to call",
     "use a helper of egpu/bpf/egpu.bpf.h"},
    {kPacketAccess, "there is no packet on a GPU (RFC 9669 section 5.5)",
     "read the fields of the context; remove bpf_skb_* and legacy packet loads"},
    {kAddressOfLinux, "variables and map descriptors of the Linux kernel (RFC 9669 section 5.4) don't exist on a GPU",
     "use maps and const data of the program's own object"},
    {kNarrowAtomic, "atomic operations are of 32 or 64 bits (RFC 9669 section 5.3)",
     "make the member a __u32 or __u64"},
    {kFallsThrough, "control would run into what follows: every path must end with exit (RFC 9669 section 4.3)",
     "end the function with return 0; where it ends in code that clang calls unreachable, remove "
     "__builtin_unreachable"},
};

Diagnostic refusal(std::span<const Instruction> program, std::size_t at, Wrong wrong) {
    const Instruction* next = at + 1 < program.size() ? &program[at + 1] : nullptr;
    Diagnostic diagnostic = error("EGPU-V001", fmt::format("instruction {} {}", at, wrong));
    diagnostic.why = "each instruction must be one of RFC 9669 (sections 3 to 5), with the fields it doesn't use zero";
    diagnostic.fix = kDamaged;
    for (const Advice& advice : kAdvice)
        if (advice.wrong == wrong) {
            diagnostic.why = advice.why;
            diagnostic.fix = advice.fix;
        }
    diagnostic.detail = fmt::format("at insn {}: {}", at, to_text(program[at], next));
    return diagnostic;
}

Diagnostic wrong_size(std::string message, std::string why, std::string fix) {
    Diagnostic diagnostic = error("EGPU-V001", std::move(message));
    diagnostic.why = std::move(why);
    diagnostic.fix = std::move(fix);
    return diagnostic;
}

enum class Role : std::uint8_t { plain, second_half, function_start };

bool is_call_local(const Instruction& i) {
    return i.opcode == kCall && i.source == kPseudoCall;
}

/// Where a jump or local call goes; nothing for other instructions.
std::optional<std::int64_t> target_of(const Instruction& i, std::size_t at) {
    const auto next = static_cast<std::int64_t>(at) + 1;
    if (is_call_local(i))
        return next + i.immediate;
    if (is_goto(i) || is_conditional_jump(i))
        return next + jump_distance(i);
    return std::nullopt;
}

/// Jumps stay in their function, and no function runs into the next one or off the end.
Status check_flow(std::span<const Instruction> program, std::vector<Role>& roles) {
    const auto size = static_cast<std::int64_t>(program.size());
    for (std::size_t at = 0; at < program.size(); ++at) {
        const auto target = roles[at] == Role::second_half ? std::nullopt : target_of(program[at], at);
        if (!target)
            continue;
        if (*target < 0 || *target >= size)
            return refusal(program, at, "goes outside the program");
        auto& role = roles[static_cast<std::size_t>(*target)];
        if (role == Role::second_half)
            return refusal(program, at, "goes into the middle of a 64-bit immediate load");
        if (is_call_local(program[at]))
            role = Role::function_start;
    }
    std::vector<std::uint32_t> function(program.size());
    for (std::size_t at = 1; at < program.size(); ++at)
        function[at] = function[at - 1] + (roles[at] == Role::function_start ? 1 : 0);
    for (std::size_t at = 0; at < program.size(); ++at) {
        const bool last = at + 1 == program.size() || function[at + 1] != function[at];
        if (last && program[at].opcode != kExit && (roles[at] == Role::second_half || !is_goto(program[at])))
            return refusal(program, at, kFallsThrough);
        const auto target = roles[at] == Role::second_half ? std::nullopt : target_of(program[at], at);
        if (target && !is_call_local(program[at]) && function[static_cast<std::size_t>(*target)] != function[at])
            return refusal(program, at, "jumps into another function");
    }
    return ok();
}

}  // namespace

Status check_encoding(std::span<const Instruction> program) {
    if (program.empty())
        return wrong_size("the program has no instruction",
                          "its section holds no code; a program ends with exit (RFC 9669 section 4.3)",
                          "give the function a body; the least is return 0;");
    if (program.size() > kMaxInstructions)
        return wrong_size(
            fmt::format("the program has {} instructions, more than {}", program.size(), kMaxInstructions),
            "a program runs in every thread of a kernel", "split it, or use loops and functions that aren't inlined");
    std::vector<Role> roles(program.size(), Role::plain);
    for (std::size_t at = 0; at < program.size(); ++at) {
        const Instruction* next = at + 1 < program.size() ? &program[at + 1] : nullptr;
        if (const Wrong wrong = check_one(program[at], next))
            return refusal(program, at, wrong);
        if (program[at].opcode == kLoadImmediate64)
            roles[++at] = Role::second_half;
    }
    return check_flow(program, roles);
}

}  // namespace egpu::ebpf
