// SPDX-License-Identifier: Apache-2.0
#include "ebpf/verifier/domain/compare.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "ebpf/isa/semantics.hpp"

namespace egpu::ebpf {
namespace {

JumpCode opposite(JumpCode comparison) {
    switch (comparison) {
        case kJeq:
            return kJne;
        case kJne:
            return kJeq;
        case kJgt:
            return kJle;
        case kJge:
            return kJlt;
        case kJlt:
            return kJge;
        case kJle:
            return kJgt;
        case kJsgt:
            return kJsle;
        case kJsge:
            return kJslt;
        case kJslt:
            return kJsge;
        case kJsle:
            return kJsgt;
        default:
            return comparison;  // kJset has none: it has its own function
    }
    return comparison;
}

/// a < b, or a <= b, on one pair of bounds.
template <typename Word>
bool order(Word a_low, Word& a_high, Word& b_low, Word b_high, bool or_equal) {
    if (or_equal) {
        a_high = std::min(a_high, b_high);
        b_low = std::max(b_low, a_low);
        return true;
    }
    if (b_high == std::numeric_limits<Word>::min() || a_low == std::numeric_limits<Word>::max())
        return false;
    a_high = std::min<Word>(a_high, static_cast<Word>(b_high - 1));
    b_low = std::max<Word>(b_low, static_cast<Word>(a_low + 1));
    return true;
}

/// Takes a number from the end of a range.
template <typename Unsigned>
void exclude(Range<Unsigned>& range, Unsigned number) {
    const auto as_signed = static_cast<std::make_signed_t<Unsigned>>(number);
    if (range.low == number && range.low != std::numeric_limits<Unsigned>::max())
        ++range.low;
    if (range.high == number && range.high != 0)
        --range.high;
    if (range.signed_low == as_signed && as_signed != std::numeric_limits<std::make_signed_t<Unsigned>>::max())
        ++range.signed_low;
    if (range.signed_high == as_signed && as_signed != std::numeric_limits<std::make_signed_t<Unsigned>>::min())
        --range.signed_high;
}

template <typename Unsigned>
bool assume_ranges(JumpCode comparison, Range<Unsigned>& a, Range<Unsigned>& b) {
    switch (comparison) {
        case kJeq: {
            a.low = b.low = std::max(a.low, b.low);
            a.high = b.high = std::min(a.high, b.high);
            a.signed_low = b.signed_low = std::max(a.signed_low, b.signed_low);
            a.signed_high = b.signed_high = std::min(a.signed_high, b.signed_high);
            return true;
        }
        case kJne:
            if (a.low == a.high && b.low == b.high && a.low == b.low)
                return false;
            if (b.low == b.high)
                exclude(a, b.low);
            else if (a.low == a.high)
                exclude(b, a.low);
            return true;
        case kJlt:
            return order(a.low, a.high, b.low, b.high, false);
        case kJle:
            return order(a.low, a.high, b.low, b.high, true);
        case kJgt:
            return order(b.low, b.high, a.low, a.high, false);
        case kJge:
            return order(b.low, b.high, a.low, a.high, true);
        case kJslt:
            return order(a.signed_low, a.signed_high, b.signed_low, b.signed_high, false);
        case kJsle:
            return order(a.signed_low, a.signed_high, b.signed_low, b.signed_high, true);
        case kJsgt:
            return order(b.signed_low, b.signed_high, a.signed_low, a.signed_high, false);
        case kJsge:
            return order(b.signed_low, b.signed_high, a.signed_low, a.signed_high, true);
        default:
            return true;
    }
    return true;
}

bool assume_equal_bits(Width width, Scalar& a, Scalar& b) {
    const bool whole = width == Width::bits64;
    const auto both = intersect(whole ? a.bits : a.bits.low_half(), whole ? b.bits : b.bits.low_half());
    if (!both)
        return false;
    for (Scalar* scalar : {&a, &b}) {
        const Tristate high = whole ? Tristate::constant(0) : scalar->bits.high_half();
        scalar->bits = {high.value | both->value, high.mask | both->mask};
    }
    return true;
}

/// (a & b) != 0, or == 0, where b is known.
bool assume_any_bit(Width width, bool outcome, Scalar& a, const Scalar& b) {
    if (!b.is_constant())
        return true;
    const std::uint64_t tested = width == Width::bits64 ? b.value() : b.value() & 0xffffffffu;
    if (outcome) {
        if ((a.bits.greatest() & tested) == 0)
            return false;
        if (std::has_single_bit(tested))
            a.bits = {a.bits.value | tested, a.bits.mask & ~tested};
        return true;
    }
    if (a.bits.value & tested)
        return false;
    a.bits.mask &= ~tested;
    return true;
}

}  // namespace

bool evaluate(JumpCode comparison, Width width, std::uint64_t a, std::uint64_t b) {
    return comparison_holds(comparison, width == Width::bits64, a, b);
}

bool assume(JumpCode comparison, Width width, bool outcome, Scalar& a, Scalar& b) {
    if (comparison == kJset) {
        if (!assume_any_bit(width, outcome, a, b))
            return false;
    } else {
        const JumpCode held = outcome ? comparison : opposite(comparison);
        if (width == Width::bits64 ? !assume_ranges(held, a.wide, b.wide) : !assume_ranges(held, a.narrow, b.narrow))
            return false;
        if (held == kJeq && !assume_equal_bits(width, a, b))
            return false;
    }
    return a.tighten() && b.tighten();
}

}  // namespace egpu::ebpf
