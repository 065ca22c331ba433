// SPDX-License-Identifier: Apache-2.0
// Exact f32 and f64 arithmetic (PTX ISA 9.0, sections 9.7.3 and 9.7.4): add, sub, mul, fma, mad, div, rcp, sqrt, abs,
// neg, min, max, with .rn .rz .rm .rp, .ftz and .sat. Compiled with -frounding-math: a directed mode is set around the
// loop.
#include <cfenv>
#include <cmath>

#include "gpu/simulated/executor/machine/cost.hpp"
#include "gpu/simulated/executor/operations/float_value.hpp"
#include "gpu/simulated/executor/operations/form.hpp"
#include "gpu/simulated/executor/operations/lane.hpp"

namespace egpu::simulated {
namespace {

struct Add {
    template <typename T>
    static T apply(T a, T b) {
        return a + b;
    }
};
struct Sub {
    template <typename T>
    static T apply(T a, T b) {
        return a - b;
    }
};
/// Where a result is tiny is decided after rounding with an unbounded exponent: `scaled` gives the result times 2^100,
/// rounded, so that .ftz can tell the least normal number from a smaller one that was rounded up to it.
constexpr float kScale = 0x1p100F;
struct Mul {
    template <typename T>
    static T apply(T a, T b) {
        return a * b;
    }
    static float scaled(float a, float b) { return std::fabs(a) < std::fabs(b) ? (a * kScale) * b : a * (b * kScale); }
};
struct Div {
    template <typename T>
    static T apply(T a, T b) {
        return a / b;
    }
    static float scaled(float a, float b) { return std::fabs(a) < 1 ? (a * kScale) / b : a / (b / kScale); }
};
struct Fma {
    template <typename T>
    static T apply(T a, T b, T c) {
        return std::fma(a, b, c);
    }
    static float scaled(float a, float b, float c) {
        return std::fabs(a) < std::fabs(b) ? std::fma(a * kScale, b, c * kScale) : std::fma(a, b * kScale, c * kScale);
    }
};
struct Reciprocal {
    template <typename T>
    static T apply(T a) {
        return T{1} / a;
    }
    static float scaled(float a) { return kScale / a; }
};
struct SquareRoot {
    template <typename T>
    static T apply(T a) {
        return std::sqrt(a);
    }
};

/// Flushes operands and result, saturates, and gives NaN its PTX form, around F.
template <typename F, bool Flush, bool Saturate>
struct Rules {
    template <typename T>
    static T in(T value) {
        return Flush ? flush(value) : value;
    }
    template <typename... T>
    static auto apply(T... values) {
        auto result = F::apply(in(values)...);
        if constexpr (Flush) {
            result = flush(result);
            if constexpr (requires { F::scaled(values...); }) {
                if (std::fabs(result) == 0x1p-126F && std::fabs(F::scaled(in(values)...)) < 0x1p-26F) {
                    result = std::copysign(0.0F, result);
                }
            }
        }
        if constexpr (Saturate) {
            return saturate(result);
        } else {
            return canonical(result);
        }
    }
};

int host_mode(std::uint8_t variant) {
    switch (static_cast<Rounding>(variant)) {
        case Rounding::zero:
            return FE_TOWARDZERO;
        case Rounding::down:
            return FE_DOWNWARD;
        case Rounding::up:
            return FE_UPWARD;
        default:
            return FE_TONEAREST;
    }
}

/// The handler in another rounding mode. The loop reads rows and writes rows, so nothing of it can leave the calls.
template <typename F, typename... T>
bool directed(Context& context, const Instruction& instruction, Mask mask) {
    std::fesetround(host_mode(instruction.variant));
    const bool done = each<F, T...>(context, instruction, mask);
    std::fesetround(FE_TONEAREST);
    return done;
}

template <typename F, typename... T>
Handler with_mode(Rounding rounding) {
    return rounding == Rounding::nearest ? each<F, T...> : directed<F, T...>;
}

template <typename F, typename... T>
Handler with_rules(Rounding rounding, bool flush, bool saturated) {
    if (saturated) {
        return flush ? with_mode<Rules<F, true, true>, T...>(rounding)
                     : with_mode<Rules<F, false, true>, T...>(rounding);
    }
    return flush ? with_mode<Rules<F, true, false>, T...>(rounding) : with_mode<Rules<F, false, false>, T...>(rounding);
}

/// f64 has neither .ftz nor .sat.
template <typename F, int Sources>
Handler arithmetic(Type type, Rounding rounding, bool flush, bool saturated) {
    if (type == Type::f64) {
        if (flush || saturated) {
            return nullptr;
        }
        using D = double;
        if constexpr (Sources == 1) {
            return with_mode<Rules<F, false, false>, D, D>(rounding);
        } else if constexpr (Sources == 2) {
            return with_mode<Rules<F, false, false>, D, D, D>(rounding);
        } else {
            return with_mode<Rules<F, false, false>, D, D, D, D>(rounding);
        }
    }
    using S = float;
    if constexpr (Sources == 1) {
        return with_rules<F, S, S>(rounding, flush, saturated);
    } else if constexpr (Sources == 2) {
        return with_rules<F, S, S, S>(rounding, flush, saturated);
    } else {
        return with_rules<F, S, S, S, S>(rounding, flush, saturated);
    }
}

template <bool Flush>
struct Abs {
    static float apply(float a) {
        return std::bit_cast<float>(std::bit_cast<std::uint32_t>(Flush ? flush(a) : a) & 0x7fffffffU);
    }
    static double apply(double a) {
        return std::bit_cast<double>(std::bit_cast<std::uint64_t>(a) & 0x7fff'ffff'ffff'ffffU);
    }
};
template <bool Flush>
struct Neg {
    static float apply(float a) {
        return std::bit_cast<float>(std::bit_cast<std::uint32_t>(Flush ? flush(a) : a) ^ 0x80000000U);
    }
    static double apply(double a) {
        return std::bit_cast<double>(std::bit_cast<std::uint64_t>(a) ^ 0x8000'0000'0000'0000U);
    }
};

/// The other operand where one is NaN (unless .NaN), -0 below +0; .xorsign.abs: of the absolute values, signs xored.
template <bool Maximum, bool Flush, bool PropagateNan, bool XorSign>
struct Extremum {
    template <typename T>
    static T apply(T a, T b) {
        if constexpr (Flush) {
            a = flush(a);
            b = flush(b);
        }
        const bool negative = std::signbit(a) != std::signbit(b);
        if constexpr (XorSign) {
            a = std::fabs(a);
            b = std::fabs(b);
        }
        T result = choose(a, b);
        if constexpr (XorSign) {
            result = result != result ? result : std::copysign(result, negative ? T{-1} : T{1});
        }
        return canonical(result);
    }
    template <typename T>
    static T choose(T a, T b) {
        if (a != a || b != b) {
            if (PropagateNan || (a != a && b != b)) {
                return std::numeric_limits<T>::quiet_NaN();
            }
            return a != a ? b : a;
        }
        if (a == b) {
            return std::signbit(a) == Maximum ? b : a;
        }
        return (a < b) == Maximum ? b : a;
    }
};

template <bool Maximum, bool Flush>
Handler extremum32(bool nan, bool xor_sign) {
    using S = float;
    if (xor_sign) {
        return nan ? each<Extremum<Maximum, Flush, true, true>, S, S, S>
                   : each<Extremum<Maximum, Flush, false, true>, S, S, S>;
    }
    return nan ? each<Extremum<Maximum, Flush, true, false>, S, S, S>
               : each<Extremum<Maximum, Flush, false, false>, S, S, S>;
}

template <bool Maximum>
Form extremum(Parts& parts, Type type) {
    Form form;
    form.destination = form.sources[0] = form.sources[1] = type;
    form.cost = cost::kArithmetic;
    if (type == Type::f64) {
        form.handler = each<Extremum<Maximum, false, false, false>, double, double, double>;
        return form;
    }
    const bool flush = parts.take("ftz");
    const bool nan = parts.take("NaN");
    const bool xor_sign = parts.take("xorsign") && parts.take("abs");
    form.handler = flush ? extremum32<Maximum, true>(nan, xor_sign) : extremum32<Maximum, false>(nan, xor_sign);
    return form;
}

Form sign_form(Parts& parts, Type type, bool negate) {
    Form form;
    form.destination = form.sources[0] = type;
    form.cost = cost::kArithmetic;
    const bool flush = type == Type::f32 && parts.take("ftz");
    if (type == Type::f64) {
        form.handler = negate ? each<Neg<false>, double, double> : each<Abs<false>, double, double>;
    } else if (flush) {
        form.handler = negate ? each<Neg<true>, float, float> : each<Abs<true>, float, float>;
    } else {
        form.handler = negate ? each<Neg<false>, float, float> : each<Abs<false>, float, float>;
    }
    return form;
}

template <typename F, int Sources>
Form arithmetic_form(Parts& parts, Type type, bool needs_mode, std::uint16_t price) {
    Form form;
    bool given = false;
    const Rounding rounding = take_rounding(parts, given);
    if (needs_mode && !given) {
        return form;
    }
    const bool flush = parts.take("ftz");
    const bool saturated = parts.take("sat");
    form.destination = type;
    for (int i = 0; i < Sources; ++i) {
        form.sources[i] = type;
    }
    form.variant = static_cast<std::uint8_t>(rounding);
    form.handler = arithmetic<F, Sources>(type, rounding, flush, saturated);
    form.cost = price;
    return form;
}

}  // namespace

Form select_float(Parts& parts, bool& found) {
    Parts after = parts;
    const Type type = after.take_type();
    const std::string_view root = parts.root();
    if ((type != Type::f32 && type != Type::f64) || Parts(parts).take_any({"approx", "full"}) != "") {
        return {};
    }
    found = true;
    const std::uint16_t simple = type == Type::f64 ? cost::kDouble : cost::kArithmetic;
    const auto commit = [&](Form form) {
        parts = after;
        return form;
    };
    if (root == "add") {
        return commit(arithmetic_form<Add, 2>(after, type, false, simple));
    }
    if (root == "sub") {
        return commit(arithmetic_form<Sub, 2>(after, type, false, simple));
    }
    if (root == "mul") {
        return commit(arithmetic_form<Mul, 2>(after, type, false, simple));
    }
    if (root == "fma" || root == "mad") {
        return commit(arithmetic_form<Fma, 3>(after, type, true, simple));
    }
    if (root == "div") {
        return commit(arithmetic_form<Div, 2>(after, type, true, cost::kDivision));
    }
    if (root == "rcp") {
        return commit(arithmetic_form<Reciprocal, 1>(after, type, true, cost::kDivision));
    }
    if (root == "sqrt") {
        return commit(arithmetic_form<SquareRoot, 1>(after, type, true, cost::kDivision));
    }
    if (root == "abs" || root == "neg") {
        return commit(sign_form(after, type, root == "neg"));
    }
    if (root == "min" || root == "max") {
        return commit(root == "max" ? extremum<true>(after, type) : extremum<false>(after, type));
    }
    found = false;
    return {};
}

}  // namespace egpu::simulated
