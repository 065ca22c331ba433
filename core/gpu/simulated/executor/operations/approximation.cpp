// SPDX-License-Identifier: Apache-2.0
// Instructions that PTX defines up to an error (PTX ISA 9.0, section 9.7.3): div.approx, div.full, rcp.approx,
// sqrt.approx, rsqrt, sin, cos, lg2, ex2, tanh. Computed in double by libm and rounded once, which is inside every
// bound; the special values are those of the ISA's tables.
#include <cmath>

#include "gpu/simulated/executor/machine/cost.hpp"
#include "gpu/simulated/executor/operations/float_value.hpp"
#include "gpu/simulated/executor/operations/form.hpp"
#include "gpu/simulated/executor/operations/lane.hpp"

namespace egpu::simulated {
namespace {

struct Reciprocal {
    static double apply(double a) { return 1.0 / a; }
};
struct SquareRoot {
    static double apply(double a) { return std::sqrt(a); }
};
struct ReciprocalRoot {
    static double apply(double a) { return 1.0 / std::sqrt(a); }
};
struct Sine {
    static double apply(double a) { return std::sin(a); }
};
struct Cosine {
    static double apply(double a) { return std::cos(a); }
};
struct Logarithm {
    static double apply(double a) { return std::log2(a); }
};
struct Exponential {
    static double apply(double a) { return std::exp2(a); }
};
struct HyperbolicTangent {
    static double apply(double a) { return std::tanh(a); }
};

template <typename F, bool Flush>
struct Single {
    static float apply(float a) {
        const auto result = static_cast<float>(F::apply(double{Flush ? flush(a) : a}));
        return canonical(Flush ? flush(result) : result);
    }
};

/// For |b| in (2^126, 2^128) the quotient of div.approx is 0, or NaN for an infinite dividend.
template <bool Flush, bool Full>
struct Divide {
    static float apply(float a, float b) {
        if (Flush) {
            a = flush(a);
            b = flush(b);
        }
        const float size = std::fabs(b);
        if (!Full && size > 0x1p126F && std::isfinite(b)) {
            if (std::isinf(a) || a != a) {
                return std::bit_cast<float>(0x7fffffffU);
            }
            return std::signbit(a) != std::signbit(b) ? -0.0F : 0.0F;
        }
        const auto result = static_cast<float>(double{a} / double{b});
        return canonical(Flush ? flush(result) : result);
    }
};

/// The f64 forms work on the upper word of operand and result.
template <typename F>
struct UpperWord {
    static double apply(double a) {
        const double coarse = std::bit_cast<double>(std::bit_cast<std::uint64_t>(a) & 0xffff'ffff'0000'0000U);
        const double result = flush_double(F::apply(flush_double(a != a ? a : coarse)));
        return std::bit_cast<double>(std::bit_cast<std::uint64_t>(result) & 0xffff'ffff'0000'0000U);
    }
};

template <typename F>
Form single_form(Parts& parts, bool may_be_double) {
    Form form;
    if (!parts.take("approx")) {
        return form;
    }
    const bool flushed = parts.take("ftz");
    const Type type = parts.take_type();
    form.destination = form.sources[0] = type;
    form.cost = cost::kApproximation;
    if (type == Type::f32) {
        form.handler = flushed ? each<Single<F, true>, float, float> : each<Single<F, false>, float, float>;
    } else if (type == Type::f64 && may_be_double) {
        form.handler = each<UpperWord<F>, double, double>;
    }
    return form;
}

Form divide_form(Parts& parts) {
    Form form;
    const bool full = parts.take("full");
    if (!full) {
        parts.take("approx");
    }
    const bool flushed = parts.take("ftz");
    form.destination = form.sources[0] = form.sources[1] = parts.take_type();
    form.cost = cost::kApproximation;
    if (form.destination != Type::f32) {
        return form;
    }
    using S = float;
    form.handler = full ? (flushed ? each<Divide<true, true>, S, S, S> : each<Divide<false, true>, S, S, S>)
                        : (flushed ? each<Divide<true, false>, S, S, S> : each<Divide<false, false>, S, S, S>);
    return form;
}

}  // namespace

Form select_approximation(Parts& parts, bool& found) {
    const std::string_view root = parts.root();
    found = true;
    if (root == "div") {
        return divide_form(parts);
    }
    if (root == "rcp") {
        return single_form<Reciprocal>(parts, true);
    }
    if (root == "sqrt") {
        return single_form<SquareRoot>(parts, false);
    }
    if (root == "rsqrt") {
        return single_form<ReciprocalRoot>(parts, true);
    }
    if (root == "sin") {
        return single_form<Sine>(parts, false);
    }
    if (root == "cos") {
        return single_form<Cosine>(parts, false);
    }
    if (root == "lg2") {
        return single_form<Logarithm>(parts, false);
    }
    if (root == "ex2") {
        return single_form<Exponential>(parts, false);
    }
    if (root == "tanh") {
        return single_form<HyperbolicTangent>(parts, false);
    }
    found = false;
    return {};
}

}  // namespace egpu::simulated
