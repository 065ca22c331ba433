// SPDX-License-Identifier: Apache-2.0
#include "ebpf/interpreter/arithmetic.hpp"

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

std::uint64_t extend(std::uint64_t value, std::int16_t bits) {
    switch (bits) {
        case 8:
            return static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int8_t>(value)));
        case 16:
            return static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int16_t>(value)));
        case 32:
            return static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(value)));
        default:
            return value;
    }
}

/// Section 4.2: ALU64 swaps always; ALU converts between this little-endian machine and the order asked for.
std::uint64_t swapped(const Instruction& i, std::uint64_t value) {
    const bool swap = class_of(i) == kClassAlu64 || uses_register(i);
    switch (i.immediate) {
        case 16:
            return swap ? __builtin_bswap16(static_cast<std::uint16_t>(value)) : static_cast<std::uint16_t>(value);
        case 32:
            return swap ? __builtin_bswap32(static_cast<std::uint32_t>(value)) : static_cast<std::uint32_t>(value);
        default:
            return swap ? __builtin_bswap64(value) : value;
    }
}

template <typename Unsigned>
Unsigned compute(const Instruction& i, Unsigned a, Unsigned b) {
    using Signed = std::make_signed_t<Unsigned>;
    const auto shift = b & (std::numeric_limits<Unsigned>::digits - 1);
    switch (operation_of(i)) {
        case kAdd:
            return a + b;
        case kSub:
            return a - b;
        case kMul:
            return a * b;
        case kDiv:
            return divide(a, b, i.offset == 1);
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
            return modulo(a, b, i.offset == 1);
        case kXor:
            return a ^ b;
        case kMov:
            return static_cast<Unsigned>(extend(b, i.offset));
        case kArsh:
            return static_cast<Unsigned>(static_cast<Signed>(a) >> shift);
        default:
            return a;
    }
}

template <typename Unsigned>
bool compare(std::uint8_t operation, Unsigned a, Unsigned b) {
    using Signed = std::make_signed_t<Unsigned>;
    const auto x = static_cast<Signed>(a), y = static_cast<Signed>(b);
    switch (operation) {
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
        default:
            return x <= y;
    }
}

}  // namespace

std::uint64_t arithmetic_result(const Instruction& i, std::uint64_t destination, std::uint64_t source) {
    if (operation_of(i) == kEnd)
        return swapped(i, destination);
    if (class_of(i) == kClassAlu64)
        return compute<std::uint64_t>(i, destination, source);
    return compute<std::uint32_t>(i, static_cast<std::uint32_t>(destination), static_cast<std::uint32_t>(source));
}

bool is_taken(const Instruction& i, std::uint64_t destination, std::uint64_t source) {
    if (class_of(i) == kClassJmp)
        return compare<std::uint64_t>(operation_of(i), destination, source);
    return compare<std::uint32_t>(operation_of(i), static_cast<std::uint32_t>(destination),
                                  static_cast<std::uint32_t>(source));
}

}  // namespace egpu::ebpf
