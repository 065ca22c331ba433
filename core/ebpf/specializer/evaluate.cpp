// SPDX-License-Identifier: Apache-2.0
#include "ebpf/specializer/evaluate.hpp"

#include <type_traits>

namespace egpu::ebpf::specializer {
namespace {

std::uint64_t byte_swapped(std::uint64_t number, std::int32_t bits) {
    switch (bits) {
        case 16:
            return __builtin_bswap16(static_cast<std::uint16_t>(number));
        case 32:
            return __builtin_bswap32(static_cast<std::uint32_t>(number));
        default:
            return __builtin_bswap64(number);
    }
}

/// RFC 9669 4.2: BPF_ALU | BPF_END is to little (no source bit) or big endian; BPF_ALU64 | BPF_END always swaps.
std::uint64_t evaluate_end(const Instruction& i, std::uint64_t a) {
    const bool swaps = class_of(i) == kClassAlu64 || uses_register(i);
    if (swaps)
        return byte_swapped(a, i.immediate);
    return truncated(a, static_cast<std::uint32_t>(i.immediate) / 8);
}

/// RFC 9669 4.1: division by zero gives 0, modulo by zero leaves the destination; the least number divided by -1 is
/// itself, remainder 0.
template <typename Unsigned>
Unsigned divided(Unsigned a, Unsigned b, bool is_signed, bool remainder) {
    using Signed = std::make_signed_t<Unsigned>;
    if (b == 0)
        return remainder ? a : 0;
    if (!is_signed)
        return remainder ? a % b : a / b;
    if (b == static_cast<Unsigned>(-1))
        return remainder ? 0 : static_cast<Unsigned>(0 - a);
    const auto x = static_cast<Signed>(a);
    const auto y = static_cast<Signed>(b);
    return static_cast<Unsigned>(remainder ? x % y : x / y);
}

template <typename Unsigned>
Unsigned evaluate_in(const Instruction& i, Unsigned a, Unsigned b) {
    using Signed = std::make_signed_t<Unsigned>;
    constexpr unsigned mask = sizeof(Unsigned) * 8 - 1;
    const auto shift = static_cast<unsigned>(b) & mask;
    switch (operation_of(i)) {
        case kAdd:
            return static_cast<Unsigned>(a + b);
        case kSub:
            return static_cast<Unsigned>(a - b);
        case kMul:
            return static_cast<Unsigned>(a * b);
        case kDiv:
            return divided(a, b, i.offset == 1, false);
        case kMod:
            return divided(a, b, i.offset == 1, true);
        case kOr:
            return a | b;
        case kAnd:
            return a & b;
        case kXor:
            return a ^ b;
        case kLsh:
            return static_cast<Unsigned>(a << shift);
        case kRsh:
            return static_cast<Unsigned>(a >> shift);
        case kArsh:
            return static_cast<Unsigned>(static_cast<Signed>(a) >> shift);
        case kNeg:
            return static_cast<Unsigned>(0 - a);
        default:
            return b;
    }
}

template <typename Unsigned>
bool jumps(std::uint8_t operation, Unsigned a, Unsigned b) {
    using Signed = std::make_signed_t<Unsigned>;
    const auto x = static_cast<Signed>(a);
    const auto y = static_cast<Signed>(b);
    switch (operation) {
        case kJeq:
            return a == b;
        case kJne:
            return a != b;
        case kJgt:
            return a > b;
        case kJge:
            return a >= b;
        case kJlt:
            return a < b;
        case kJle:
            return a <= b;
        case kJset:
            return (a & b) != 0;
        case kJsgt:
            return x > y;
        case kJsge:
            return x >= y;
        case kJslt:
            return x < y;
        case kJsle:
            return x <= y;
        default:
            return true;
    }
}

}  // namespace

std::uint64_t truncated(std::uint64_t number, std::uint32_t bytes) {
    return bytes >= 8 ? number : number & ((std::uint64_t{1} << (bytes * 8)) - 1);
}

std::uint64_t sign_extended(std::uint64_t number, std::uint32_t bytes) {
    if (bytes >= 8)
        return number;
    const std::uint32_t unused = 64 - bytes * 8;
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(number << unused) >> unused);
}

std::uint64_t evaluate_alu(const Instruction& i, std::uint64_t a, std::uint64_t b) {
    const bool wide = class_of(i) == kClassAlu64;
    if (operation_of(i) == kEnd)
        return evaluate_end(i, a);
    if (operation_of(i) == kMov && i.offset != 0) {
        const std::uint64_t extended = sign_extended(b, static_cast<std::uint32_t>(i.offset) / 8);
        return wide ? extended : truncated(extended, 4);
    }
    if (wide)
        return evaluate_in<std::uint64_t>(i, a, b);
    return evaluate_in<std::uint32_t>(i, static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b));
}

bool evaluate_jump(const Instruction& i, std::uint64_t a, std::uint64_t b) {
    if (class_of(i) == kClassJmp)
        return jumps<std::uint64_t>(operation_of(i), a, b);
    return jumps<std::uint32_t>(operation_of(i), static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b));
}

std::uint64_t evaluate_atomic(std::int32_t operation, std::uint64_t memory, std::uint64_t operand,
                              std::uint32_t bytes) {
    switch (operation & ~kFetch) {
        case kAdd:
            return truncated(memory + operand, bytes);
        case kOr:
            return truncated(memory | operand, bytes);
        case kAnd:
            return truncated(memory & operand, bytes);
        default:
            return truncated(memory ^ operand, bytes);
    }
}

}  // namespace egpu::ebpf::specializer
