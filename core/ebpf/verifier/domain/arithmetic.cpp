// SPDX-License-Identifier: Apache-2.0
#include "ebpf/verifier/domain/arithmetic.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include "ebpf/isa/semantics.hpp"

namespace egpu::ebpf {
namespace {

template <typename Unsigned>
constexpr unsigned kBits = std::numeric_limits<Unsigned>::digits;

template <typename Unsigned>
using SignedOf = std::make_signed_t<Unsigned>;

template <typename Unsigned>
Range<Unsigned> add_ranges(const Range<Unsigned>& a, const Range<Unsigned>& b) {
    Range<Unsigned> result;
    Unsigned low, high;
    // Both ends wrap or none does: else the sums are two pieces, and nothing is known.
    const bool low_wraps = __builtin_add_overflow(a.low, b.low, &low);
    const bool high_wraps = __builtin_add_overflow(a.high, b.high, &high);
    if (low_wraps == high_wraps) {
        result.low = low;
        result.high = high;
    }
    SignedOf<Unsigned> signed_low, signed_high;
    const bool signed_low_wraps = __builtin_add_overflow(a.signed_low, b.signed_low, &signed_low);
    const bool signed_high_wraps = __builtin_add_overflow(a.signed_high, b.signed_high, &signed_high);
    if (!signed_low_wraps && !signed_high_wraps) {
        result.signed_low = signed_low;
        result.signed_high = signed_high;
    }
    return result;
}

template <typename Unsigned>
Range<Unsigned> subtract_ranges(const Range<Unsigned>& a, const Range<Unsigned>& b) {
    Range<Unsigned> result;
    Unsigned low, high;
    const bool low_wraps = __builtin_sub_overflow(a.low, b.high, &low);
    const bool high_wraps = __builtin_sub_overflow(a.high, b.low, &high);
    if (low_wraps == high_wraps) {
        result.low = low;
        result.high = high;
    }
    SignedOf<Unsigned> signed_low, signed_high;
    const bool signed_low_wraps = __builtin_sub_overflow(a.signed_low, b.signed_high, &signed_low);
    const bool signed_high_wraps = __builtin_sub_overflow(a.signed_high, b.signed_low, &signed_high);
    if (!signed_low_wraps && !signed_high_wraps) {
        result.signed_low = signed_low;
        result.signed_high = signed_high;
    }
    return result;
}

template <typename Unsigned>
Range<Unsigned> multiply_ranges(const Range<Unsigned>& a, const Range<Unsigned>& b) {
    Range<Unsigned> result;
    Unsigned high;
    if (!__builtin_mul_overflow(a.high, b.high, &high)) {
        result.low = static_cast<Unsigned>(a.low * b.low);
        result.high = high;
    }
    SignedOf<Unsigned> corners[4];
    const bool wraps = __builtin_mul_overflow(a.signed_low, b.signed_low, &corners[0]) ||
                       __builtin_mul_overflow(a.signed_low, b.signed_high, &corners[1]) ||
                       __builtin_mul_overflow(a.signed_high, b.signed_low, &corners[2]) ||
                       __builtin_mul_overflow(a.signed_high, b.signed_high, &corners[3]);
    if (!wraps) {
        result.signed_low = *std::min_element(corners, corners + 4);
        result.signed_high = *std::max_element(corners, corners + 4);
    }
    return result;
}

template <typename Unsigned>
Range<Unsigned> shift_ranges(AluCode operation, const Range<Unsigned>& a, const Range<Unsigned>& b) {
    Range<Unsigned> result;
    if (b.high >= kBits<Unsigned>)
        return result;  // the amount is taken modulo the width: any
    const auto least = static_cast<unsigned>(b.low), most = static_cast<unsigned>(b.high);
    if (operation == kLsh) {
        if (a.high <= std::numeric_limits<Unsigned>::max() >> most) {
            result.low = static_cast<Unsigned>(a.low << least);
            result.high = static_cast<Unsigned>(a.high << most);
        }
    } else if (operation == kRsh) {
        result.low = a.low >> most;
        result.high = a.high >> least;
    } else {
        result.signed_low = std::min<SignedOf<Unsigned>>(a.signed_low >> least, a.signed_low >> most);
        result.signed_high = std::max<SignedOf<Unsigned>>(a.signed_high >> least, a.signed_high >> most);
    }
    return result;
}

template <typename Unsigned>
Range<Unsigned> divide_ranges(AluCode operation, bool is_signed, const Range<Unsigned>& a, const Range<Unsigned>& b) {
    Range<Unsigned> result;
    if (is_signed)
        return result;
    if (operation == kDiv) {
        // A zero divisor gives 0.
        result.low = b.low == 0 ? 0 : a.low / b.high;
        result.high = b.low == 0 ? a.high : a.high / b.low;
    } else {
        // A zero divisor gives the dividend.
        result.high = b.low == 0 ? a.high : std::min<Unsigned>(a.high, b.high - 1);
    }
    return result;
}

template <typename Unsigned>
Range<Unsigned> compute_range(AluCode operation, bool is_signed, const Range<Unsigned>& a, const Range<Unsigned>& b) {
    Range<Unsigned> result;
    switch (operation) {
        case kAdd:
            return add_ranges(a, b);
        case kSub:
            return subtract_ranges(a, b);
        case kNeg:
            return subtract_ranges(Range<Unsigned>::constant(0), a);
        case kMul:
            return multiply_ranges(a, b);
        case kDiv:
        case kMod:
            return divide_ranges(operation, is_signed, a, b);
        case kLsh:
        case kRsh:
        case kArsh:
            return shift_ranges(operation, a, b);
        case kAnd:
            result.high = std::min(a.high, b.high);
            return result;
        case kOr:
            result.low = std::max(a.low, b.low);
            return result;
        case kXor:
        case kEnd:
            return result;
        case kMov:
            return b;
    }
    return result;
}

Tristate compute_bits(AluCode operation, Width width, const Tristate& a, const Tristate& b) {
    const unsigned bits = width == Width::bits64 ? 64 : 32;
    const unsigned amount = static_cast<unsigned>(b.value) & (bits - 1);
    switch (operation) {
        case kAdd:
            return add(a, b);
        case kSub:
            return subtract(a, b);
        case kNeg:
            return subtract(Tristate::constant(0), a);
        case kMul:
            return multiply(a, b);
        case kOr:
            return bit_or(a, b);
        case kAnd:
            return bit_and(a, b);
        case kXor:
            return bit_xor(a, b);
        case kMov:
            return b;
        case kLsh:
            return b.is_constant() ? shift_left(a, amount) : Tristate::unknown();
        case kRsh:
            return b.is_constant() ? shift_right(a, amount) : Tristate::unknown();
        case kArsh:
            return b.is_constant() ? shift_right_signed(a, amount, bits) : Tristate::unknown();
        case kDiv:
        case kMod:
        case kEnd:
            return Tristate::unknown();
    }
    return Tristate::unknown();
}

/// A result whose parts contradict would mean a value that can't be: then nothing is claimed.
Scalar settled(Scalar scalar) {
    if (scalar.tighten())
        return scalar;
    Scalar any;
    any.derive_from(scalar);
    any.expression = scalar.expression;
    return any;
}

}  // namespace

std::uint64_t evaluate(AluCode operation, Width width, bool is_signed, std::uint64_t a, std::uint64_t b) {
    return operation_result(operation, is_signed, width == Width::bits64, a, b);
}

/// RFC 9669 section 4.1: by zero, a quotient is 0 and a remainder the dividend.
static std::optional<Scalar> divided_by_zero(AluCode operation, Width width, const Scalar& a, const Scalar& b) {
    const bool divides = operation == kDiv || operation == kMod;
    const bool by_zero = width == Width::bits64 ? b.wide.high == 0 : b.narrow.high == 0;
    if (!divides || !by_zero)
        return std::nullopt;
    Scalar result = operation == kDiv ? Scalar::constant(0) : width == Width::bits64 ? a : low_word(a);
    result.derive_from(a);
    result.derive_from(b);
    result.link = 0;
    return result;
}

Scalar compute(AluCode operation, Width width, bool is_signed, const Scalar& a, const Scalar& b) {
    if (auto result = divided_by_zero(operation, width, a, b))
        return *result;
    Scalar result;
    const bool unary = operation == kNeg;
    if (a.is_constant() && (unary || b.is_constant())) {
        result = Scalar::constant(evaluate(operation, width, is_signed, a.value(), b.value()));
    } else if (width == Width::bits64) {
        result.bits = compute_bits(operation, width, a.bits, b.bits);
        result.wide = compute_range(operation, is_signed, a.wide, b.wide);
        // The low half of these is made of the operands' low halves only.
        if (operation == kAdd || operation == kSub || operation == kAnd || operation == kOr)
            result.narrow = compute_range(operation, is_signed, a.narrow, b.narrow);
    } else {
        const Tristate bits = compute_bits(operation, width, a.bits.low_half(), b.bits.low_half());
        result.bits = bits.low_half();
        result.wide = Range<std::uint64_t>::between(0, std::numeric_limits<std::uint32_t>::max());
        result.narrow = compute_range(operation, is_signed, a.narrow, b.narrow);
    }
    result.derive_from(a);
    if (!unary)
        result.derive_from(b);
    if (!result.is_constant())
        result.expression = combine(operation + (width == Width::bits64 ? 0x100u : 0x200u), a.expression, b.expression);
    return settled(result);
}

Scalar low_word(const Scalar& a) {
    Scalar result;
    result.bits = a.bits.low_half();
    result.wide = Range<std::uint64_t>::between(0, std::numeric_limits<std::uint32_t>::max());
    result.narrow = a.narrow;
    result.derive_from(a);
    result.expression = combine(0x300, a.expression, 0);
    return settled(result);
}

Scalar sign_extend(const Scalar& a, unsigned bits, Width width) {
    Scalar result;
    const unsigned shift = 64 - bits;
    result.bits = shift_right_signed(shift_left(a.bits, shift), shift, 64);
    const auto limit = std::int64_t{1} << (bits - 1);
    result.wide.signed_low = -limit;
    result.wide.signed_high = limit - 1;
    if (a.is_constant())
        result = Scalar::constant(sign_extended(a.value(), bits / 8));
    else if (a.wide.high < static_cast<std::uint64_t>(limit))
        result.wide = a.wide;  // no sign bit: unchanged
    result.derive_from(a);
    if (!a.is_constant())
        result.expression = combine(0x400 + bits, a.expression, 0);
    result = settled(result);
    return width == Width::bits64 ? result : low_word(result);
}

Scalar byte_order(const Scalar& a, unsigned bits, bool swap) {
    Scalar result;
    if (a.is_constant()) {
        result = Scalar::constant(in_byte_order(a.value(), bits, swap));
    } else {
        // Known bits travel with their bytes.
        result.bits = {in_byte_order(a.bits.value, bits, swap), in_byte_order(a.bits.mask, bits, swap)};
        if (!swap && bits == 64)
            result = a;
    }
    result.derive_from(a);
    result.link = 0;
    if (!a.is_constant())
        result.expression = combine((swap ? 0x600u : 0x500u) + bits, a.expression, 0);
    return settled(result);
}

}  // namespace egpu::ebpf
