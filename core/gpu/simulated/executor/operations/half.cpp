// SPDX-License-Identifier: Apache-2.0
// Arithmetic on f16, bf16 and pairs of them (PTX ISA 9.0, section 9.7.4 "Half Precision Floating Point Instructions"):
// add, sub, mul, fma, neg, abs, min, max, ex2.approx, tanh.approx.
//
// Results are computed in double and rounded once: sums and products of two narrow floats are exact there or far from
// any tie; fma rounds its sum to odd first, so that the second rounding sees what was lost.
#include <cmath>

#include "gpu/simulated/executor/machine/cost.hpp"
#include "gpu/simulated/executor/operations/form.hpp"
#include "gpu/simulated/executor/operations/half_value.hpp"
#include "gpu/simulated/executor/operations/lane.hpp"

namespace egpu::simulated {
namespace {

enum Flags : std::uint8_t { kFlush = 1, kSaturate = 2, kRelu = 4, kNan = 8, kXorSign = 16 };

struct F16 {
    using Value = Half;
    static constexpr std::uint16_t kSign = 0x8000, kMagnitude = 0x7fff, kExponent = 0x7c00;
    static Half round(double value) { return to_half(value); }
};
struct Bf16 {
    using Value = Brain;
    static constexpr std::uint16_t kSign = 0x8000, kMagnitude = 0x7fff, kExponent = 0x7f80;
    static Brain round(double value) { return to_brain(value); }
};

template <typename K>
std::uint16_t flushed(std::uint16_t bits) {
    return (bits & K::kExponent) == 0 ? static_cast<std::uint16_t>(bits & K::kSign) : bits;
}
template <typename K>
double in(std::uint16_t bits, std::uint8_t flags) {
    return double{to_float(typename K::Value{(flags & kFlush) != 0 ? flushed<K>(bits) : bits})};
}
template <typename K>
std::uint16_t out(double value, std::uint8_t flags) {
    if ((flags & kSaturate) != 0) {
        value = value > 0 ? (value < 1 ? value : 1) : 0.0;
    }
    if ((flags & kRelu) != 0 && value == value && !(value > 0)) {
        value = 0.0;
    }
    const std::uint16_t bits = K::round(value).bits;
    return (flags & kFlush) != 0 ? flushed<K>(bits) : bits;
}

/// a * b + c rounded to odd: the product is exact, the sum's error is known (2Sum), the last bit remembers it.
double fused_to_odd(double a, double b, double c) {
    const double product = a * b;
    const double sum = product + c;
    if (!std::isfinite(sum)) {
        return sum;
    }
    const double part = sum - product;
    const double lost = (product - (sum - part)) + (c - part);
    if (lost == 0 || (std::bit_cast<std::uint64_t>(sum) & 1) != 0) {
        return sum;
    }
    return std::nextafter(sum, lost > 0 ? HUGE_VAL : -HUGE_VAL);
}

template <typename K>
struct Add {
    static std::uint16_t apply(std::uint8_t f, std::uint16_t a, std::uint16_t b) {
        return out<K>(in<K>(a, f) + in<K>(b, f), f);
    }
};
template <typename K>
struct Sub {
    static std::uint16_t apply(std::uint8_t f, std::uint16_t a, std::uint16_t b) {
        return out<K>(in<K>(a, f) - in<K>(b, f), f);
    }
};
template <typename K>
struct Mul {
    static std::uint16_t apply(std::uint8_t f, std::uint16_t a, std::uint16_t b) {
        return out<K>(in<K>(a, f) * in<K>(b, f), f);
    }
};
template <typename K>
struct Fma {
    static std::uint16_t apply(std::uint8_t f, std::uint16_t a, std::uint16_t b, std::uint16_t c) {
        return out<K>(fused_to_odd(in<K>(a, f), in<K>(b, f), in<K>(c, f)), f);
    }
};
template <typename K>
struct Abs {
    static std::uint16_t apply(std::uint8_t f, std::uint16_t a) {
        return static_cast<std::uint16_t>(((f & kFlush) != 0 ? flushed<K>(a) : a) & K::kMagnitude);
    }
};
template <typename K>
struct Neg {
    static std::uint16_t apply(std::uint8_t f, std::uint16_t a) {
        return static_cast<std::uint16_t>(((f & kFlush) != 0 ? flushed<K>(a) : a) ^ K::kSign);
    }
};
template <typename K>
struct Exponential {
    static std::uint16_t apply(std::uint8_t f, std::uint16_t a) { return out<K>(std::exp2(in<K>(a, f)), f); }
};
template <typename K>
struct HyperbolicTangent {
    static std::uint16_t apply(std::uint8_t f, std::uint16_t a) { return out<K>(std::tanh(in<K>(a, f)), f); }
};
template <typename K, bool Maximum>
struct Extremum {
    static std::uint16_t apply(std::uint8_t f, std::uint16_t a, std::uint16_t b) {
        if ((f & kFlush) != 0) {
            a = flushed<K>(a);
            b = flushed<K>(b);
        }
        const auto sign = static_cast<std::uint16_t>((a ^ b) & K::kSign);
        if ((f & kXorSign) != 0) {
            a &= K::kMagnitude;
            b &= K::kMagnitude;
        }
        const double x = in<K>(a, 0), y = in<K>(b, 0);
        if (x != x || y != y) {
            if ((f & kNan) != 0 || (x != x && y != y)) {
                return K::kMagnitude;
            }
            const std::uint16_t number = x != x ? b : a;
            return (f & kXorSign) != 0 ? static_cast<std::uint16_t>((number & K::kMagnitude) | sign) : number;
        }
        const bool a_first = x == y ? (a & K::kSign) != 0 : x < y;
        const std::uint16_t chosen = a_first != Maximum ? a : b;
        return (f & kXorSign) != 0 ? static_cast<std::uint16_t>((chosen & K::kMagnitude) | sign) : chosen;
    }
};

/// One value in the low half of a row, or two.
template <typename F, bool Pair, unsigned Sources>
bool narrow(Context& context, const Instruction& instruction, Mask mask) {
    auto* const destination = row_at<std::uint32_t>(context, instruction.destination);
    const std::uint32_t* sources[Sources];
    for (unsigned i = 0; i < Sources; ++i) {
        sources[i] = row_at<const std::uint32_t>(context, instruction.sources[i]);
    }
    const std::uint8_t flags = instruction.variant;
    const auto half = [&](unsigned lane, unsigned shift) -> std::uint32_t {
        const auto operand = [&](unsigned i) { return static_cast<std::uint16_t>(sources[i][lane] >> shift); };
        if constexpr (Sources == 1) {
            return F::apply(flags, operand(0));
        } else if constexpr (Sources == 2) {
            return F::apply(flags, operand(0), operand(1));
        } else {
            return F::apply(flags, operand(0), operand(1), operand(2));
        }
    };
    for_lanes(mask, [&](unsigned lane) {
        std::uint32_t result = half(lane, 0);
        if constexpr (Pair) {
            result |= half(lane, 16) << 16;
        }
        destination[lane] = result;
    });
    return true;
}

template <template <typename> class F, unsigned Sources>
Handler by_type(Type type) {
    switch (type) {
        case Type::f16:
            return narrow<F<F16>, false, Sources>;
        case Type::f16x2:
            return narrow<F<F16>, true, Sources>;
        case Type::bf16:
            return narrow<F<Bf16>, false, Sources>;
        case Type::bf16x2:
            return narrow<F<Bf16>, true, Sources>;
        default:
            return nullptr;
    }
}
template <typename K>
using Minimum = Extremum<K, false>;
template <typename K>
using Maximum = Extremum<K, true>;

std::uint8_t take_flags(Parts& parts, std::initializer_list<std::pair<std::string_view, Flags>> allowed) {
    std::uint8_t flags = 0;
    for (const auto& [name, flag] : allowed) {
        flags = static_cast<std::uint8_t>(flags | (parts.take(name) ? flag : 0));
    }
    return flags;
}

bool is_narrow(Type type) {
    return type == Type::f16 || type == Type::f16x2 || type == Type::bf16 || type == Type::bf16x2;
}

Form form_of(Handler handler, Type type, unsigned sources, std::uint8_t flags) {
    Form form;
    form.handler = handler;
    form.destination = type;
    for (unsigned i = 0; i < sources; ++i) {
        form.sources[i] = type;
    }
    form.variant = flags;
    form.cost = cost::kArithmetic;
    return form;
}

}  // namespace

Form select_half(Parts& parts, bool& found) {
    Parts after = parts;
    const Type type = after.take_type();
    const std::string_view root = parts.root();
    if (!is_narrow(type)) {
        return {};
    }
    found = true;
    Form form;
    if (root == "add" || root == "sub" || root == "mul") {
        after.take("rn");
        const std::uint8_t flags = take_flags(after, {{"ftz", kFlush}, {"sat", kSaturate}});
        form = form_of(root == "add"   ? by_type<Add, 2>(type)
                       : root == "sub" ? by_type<Sub, 2>(type)
                                       : by_type<Mul, 2>(type),
                       type, 2, flags);
    } else if (root == "fma") {
        after.take("rn");
        form = form_of(by_type<Fma, 3>(type), type, 3,
                       take_flags(after, {{"ftz", kFlush}, {"sat", kSaturate}, {"relu", kRelu}}));
    } else if (root == "abs" || root == "neg") {
        form = form_of(root == "abs" ? by_type<Abs, 1>(type) : by_type<Neg, 1>(type), type, 1,
                       take_flags(after, {{"ftz", kFlush}}));
    } else if (root == "min" || root == "max") {
        std::uint8_t flags = take_flags(after, {{"ftz", kFlush}, {"NaN", kNan}});
        if (after.take("xorsign") && after.take("abs")) {
            flags = static_cast<std::uint8_t>(flags | kXorSign);
        }
        form = form_of(root == "min" ? by_type<Minimum, 2>(type) : by_type<Maximum, 2>(type), type, 2, flags);
    } else if ((root == "ex2" || root == "tanh") && after.take("approx")) {
        form = form_of(root == "ex2" ? by_type<Exponential, 1>(type) : by_type<HyperbolicTangent, 1>(type), type, 1,
                       take_flags(after, {{"ftz", kFlush}}));
    } else {
        found = false;
        return {};
    }
    parts = after;
    return form;
}

}  // namespace egpu::simulated
