// SPDX-License-Identifier: Apache-2.0
#include "ebpf/isa/semantics.hpp"

#include <limits>
#include <type_traits>

namespace egpu::ebpf {
namespace {

/// Section 4.1: x / 0 = 0, and the most negative number / -1 is itself.
template <typename Unsigned>
Unsigned divide(Unsigned a, Unsigned b, bool is_signed) {
    using Signed = std::make_signed_t<Unsigned>;
    if (b == 0)
        return 0;
    if (!is_signed)
        return a / b;
    if (static_cast<Signed>(b) == -1)
        return Unsigned{0} - a;
    return static_cast<Unsigned>(static_cast<Signed>(a) / static_cast<Signed>(b));
}

/// Section 4.1: x % 0 = x, and the most negative number % -1 is 0; the sign is the dividend's.
template <typename Unsigned>
Unsigned modulo(Unsigned a, Unsigned b, bool is_signed) {
    using Signed = std::make_signed_t<Unsigned>;
    if (b == 0)
        return a;
    if (!is_signed)
        return a % b;
    if (static_cast<Signed>(b) == -1)
        return 0;
    return static_cast<Unsigned>(static_cast<Signed>(a) % static_cast<Signed>(b));
}

template <typename Unsigned>
Unsigned compute(std::uint8_t operation, bool is_signed, Unsigned a, Unsigned b) {
    using Signed = std::make_signed_t<Unsigned>;
    const auto shift = b & (std::numeric_limits<Unsigned>::digits - 1);
    switch (operation) {
        case kAdd:
            return a + b;
        case kSub:
            return a - b;
        case kMul:
            return a * b;
        case kDiv:
            return divide(a, b, is_signed);
        case kOr:
            return a | b;
        case kAnd:
            return a & b;
        case kLsh:
            return a << shift;
        case kRsh:
            return a >> shift;
        case kNeg:
            return Unsigned{0} - a;
        case kMod:
            return modulo(a, b, is_signed);
        case kXor:
            return a ^ b;
        case kMov:
            return b;
        case kArsh:
            return static_cast<Unsigned>(static_cast<Signed>(a) >> shift);
        default:
            return a;
    }
}

template <typename Unsigned>
bool compare(std::uint8_t comparison, Unsigned a, Unsigned b) {
    using Signed = std::make_signed_t<Unsigned>;
    const auto x = static_cast<Signed>(a), y = static_cast<Signed>(b);
    switch (comparison) {
        case kJeq:
            return a == b;
        case kJne:
            return a != b;
        case kJset:
            return (a & b) != 0;
        case kJgt:
            return a > b;
        case kJge:
            return a >= b;
        case kJlt:
            return a < b;
        case kJle:
            return a <= b;
        case kJsgt:
            return x > y;
        case kJsge:
            return x >= y;
        case kJslt:
            return x < y;
        case kJsle:
            return x <= y;
        default:
            return false;
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

std::uint64_t in_byte_order(std::uint64_t number, unsigned bits, bool swap) {
    const std::uint64_t kept = truncated(number, bits / 8);
    return swap ? __builtin_bswap64(kept) >> (64 - bits) : kept;
}

std::uint64_t operation_result(std::uint8_t operation, bool is_signed, bool is_64_bits, std::uint64_t a,
                               std::uint64_t b) {
    if (is_64_bits)
        return compute<std::uint64_t>(operation, is_signed, a, b);
    return compute<std::uint32_t>(operation, is_signed, static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b));
}

bool comparison_holds(std::uint8_t comparison, bool is_64_bits, std::uint64_t a, std::uint64_t b) {
    if (is_64_bits)
        return compare<std::uint64_t>(comparison, a, b);
    return compare<std::uint32_t>(comparison, static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b));
}

std::uint64_t arithmetic_result(const Instruction& i, std::uint64_t destination, std::uint64_t source) {
    const bool is_64_bits = class_of(i) == kClassAlu64;
    // Section 4.2: ALU64 swaps always; ALU converts between this little-endian machine and the order asked for.
    if (operation_of(i) == kEnd)
        return in_byte_order(destination, static_cast<unsigned>(i.immediate), is_64_bits || uses_register(i));
    if (operation_of(i) == kMov && i.offset != 0)
        source = sign_extended(source, static_cast<std::uint32_t>(i.offset) / 8);
    return operation_result(operation_of(i), i.offset == 1, is_64_bits, destination, source);
}

std::uint64_t atomic_result(std::int32_t operation, std::uint64_t memory, std::uint64_t operand, std::uint32_t bytes) {
    switch (operation & ~kFetch) {
        case kAdd:
            return truncated(memory + operand, bytes);
        case kOr:
            return truncated(memory | operand, bytes);
        case kAnd:
            return truncated(memory & operand, bytes);
        case kXor:
            return truncated(memory ^ operand, bytes);
        default:
            return truncated(operand, bytes);  // exchange
    }
}

bool is_taken(const Instruction& i, std::uint64_t destination, std::uint64_t source) {
    return comparison_holds(operation_of(i), class_of(i) == kClassJmp, destination, source);
}

}  // namespace egpu::ebpf
