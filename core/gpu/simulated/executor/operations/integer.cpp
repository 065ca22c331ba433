// SPDX-License-Identifier: Apache-2.0
// Integer arithmetic (PTX ISA 9.0, section 9.7.1): add, sub, mul, mad, mul24, mad24, sad, div, rem, abs, neg, min, max.
#include <limits>
#include <tuple>

#include "gpu/simulated/executor/machine/cost.hpp"
#include "gpu/simulated/executor/operations/form.hpp"
#include "gpu/simulated/executor/operations/lane.hpp"

namespace egpu::simulated {
namespace {

template <typename T>
struct WiderOf;
template <>
struct WiderOf<std::uint16_t> {
    using type = std::uint32_t;
};
template <>
struct WiderOf<std::int16_t> {
    using type = std::int32_t;
};
template <>
struct WiderOf<std::uint32_t> {
    using type = std::uint64_t;
};
template <>
struct WiderOf<std::int32_t> {
    using type = std::int64_t;
};
__extension__ typedef unsigned __int128 Unsigned128;
__extension__ typedef __int128 Signed128;
template <>
struct WiderOf<std::uint64_t> {
    using type = Unsigned128;
};
template <>
struct WiderOf<std::int64_t> {
    using type = Signed128;
};
template <typename T>
using Wider = typename WiderOf<T>::type;

/// Wrapping arithmetic: on the unsigned type, at least 32 bits wide so that nothing is promoted to a signed int.
template <typename T>
using Wrapping = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

struct Add {
    template <typename T>
    static T apply(T a, T b) {
        return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
    }
};
struct Sub {
    template <typename T>
    static T apply(T a, T b) {
        return static_cast<T>(static_cast<Wrapping<T>>(a) - static_cast<Wrapping<T>>(b));
    }
};
struct MulLow {
    template <typename T>
    static T apply(T a, T b) {
        return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
    }
};
struct MulHigh {
    template <typename T>
    static T apply(T a, T b) {
        return static_cast<T>((static_cast<Wider<T>>(a) * static_cast<Wider<T>>(b)) >> (sizeof(T) * 8));
    }
};
struct MulWide {
    template <typename T>
    static Wider<T> apply(T a, T b) {
        return static_cast<Wider<T>>(static_cast<Wider<T>>(a) * static_cast<Wider<T>>(b));
    }
};
struct MadLow {
    template <typename T>
    static T apply(T a, T b, T c) {
        return Add::apply(MulLow::apply(a, b), c);
    }
};
struct MadHigh {
    template <typename T>
    static T apply(T a, T b, T c) {
        return Add::apply(MulHigh::apply(a, b), c);
    }
};
struct MadWide {
    template <typename T>
    static Wider<T> apply(T a, T b, Wider<T> c) {
        return Add::apply(MulWide::apply(a, b), c);
    }
};

std::int32_t clamp32(std::int64_t value) {
    constexpr std::int64_t low = std::numeric_limits<std::int32_t>::min();
    constexpr std::int64_t high = std::numeric_limits<std::int32_t>::max();
    return static_cast<std::int32_t>(value < low ? low : value > high ? high : value);
}
struct AddSaturated {
    static std::int32_t apply(std::int32_t a, std::int32_t b) { return clamp32(std::int64_t{a} + b); }
};
struct SubSaturated {
    static std::int32_t apply(std::int32_t a, std::int32_t b) { return clamp32(std::int64_t{a} - b); }
};
struct MadHighSaturated {
    static std::int32_t apply(std::int32_t a, std::int32_t b, std::int32_t c) {
        return clamp32(std::int64_t{MulHigh::apply(a, b)} + c);
    }
};

/// The product of the low 24 bits, 48 bits long (sign-extended from bit 23 for signed types).
template <typename T>
std::int64_t product24(T a, T b) {
    if constexpr (std::is_signed_v<T>) {
        const auto low = [](T value) {
            return static_cast<std::int64_t>(static_cast<std::int32_t>(static_cast<std::uint32_t>(value) << 8) >> 8);
        };
        return low(a) * low(b);
    } else {
        return static_cast<std::int64_t>(std::uint64_t{a & 0xffffffU} * std::uint64_t{b & 0xffffffU});
    }
}
struct Mul24Low {
    template <typename T>
    static T apply(T a, T b) {
        return static_cast<T>(product24(a, b));
    }
};
struct Mul24High {
    template <typename T>
    static T apply(T a, T b) {
        return static_cast<T>(product24(a, b) >> 16);
    }
};
struct Mad24Low {
    template <typename T>
    static T apply(T a, T b, T c) {
        return Add::apply(Mul24Low::apply(a, b), c);
    }
};
struct Mad24High {
    template <typename T>
    static T apply(T a, T b, T c) {
        return Add::apply(Mul24High::apply(a, b), c);
    }
};
struct Mad24HighSaturated {
    static std::int32_t apply(std::int32_t a, std::int32_t b, std::int32_t c) {
        return clamp32(std::int64_t{Mul24High::apply(a, b)} + c);
    }
};
/// c + |a - b|
struct Sad {
    template <typename T>
    static T apply(T a, T b, T c) {
        return Add::apply(c, a < b ? Sub::apply(b, a) : Sub::apply(a, b));
    }
};
/// Division by zero is unspecified in PTX; an H200 gives all ones as quotient and as remainder.
struct Div {
    template <typename T>
    static T apply(T a, T b) {
        if (b == 0) {
            return static_cast<T>(~T{0});
        }
        if constexpr (std::is_signed_v<T>) {
            if (b == -1) {
                return Sub::apply(T{0}, a);
            }
        }
        return static_cast<T>(a / b);
    }
};
struct Rem {
    template <typename T>
    static T apply(T a, T b) {
        if (b == 0) {
            return static_cast<T>(~T{0});
        }
        if constexpr (std::is_signed_v<T>) {
            if (b == -1) {
                return 0;
            }
        }
        return static_cast<T>(a % b);
    }
};
struct Abs {
    template <typename T>
    static T apply(T a) {
        return a < 0 ? Sub::apply(T{0}, a) : a;
    }
};
struct Neg {
    template <typename T>
    static T apply(T a) {
        return Sub::apply(T{0}, a);
    }
};
struct Min {
    template <typename T>
    static T apply(T a, T b) {
        return a < b ? a : b;
    }
};
struct Max {
    template <typename T>
    static T apply(T a, T b) {
        return a < b ? b : a;
    }
};
/// .relu: negative results become 0.
template <typename F>
struct Relu {
    template <typename T>
    static T apply(T a, T b) {
        return Max::apply(F::apply(a, b), T{0});
    }
};
/// Two 16-bit values in one register.
template <typename F, typename T>
struct Pairwise {
    static std::uint32_t apply(std::uint32_t a, std::uint32_t b) {
        const auto low = static_cast<std::uint16_t>(F::apply(static_cast<T>(a), static_cast<T>(b)));
        const auto high = static_cast<std::uint16_t>(F::apply(static_cast<T>(a >> 16), static_cast<T>(b >> 16)));
        return std::uint32_t{high} << 16 | low;
    }
};

template <typename F>
Handler unary(Type type) {
    switch (type) {
        case Type::s16:
            return each<F, std::int16_t, std::int16_t>;
        case Type::s32:
            return each<F, std::int32_t, std::int32_t>;
        case Type::s64:
            return each<F, std::int64_t, std::int64_t>;
        default:
            return nullptr;
    }
}
template <typename F>
Handler binary(Type type) {
    switch (type) {
        case Type::u16:
            return each<F, std::uint16_t, std::uint16_t, std::uint16_t>;
        case Type::s16:
            return each<F, std::int16_t, std::int16_t, std::int16_t>;
        case Type::u32:
            return each<F, std::uint32_t, std::uint32_t, std::uint32_t>;
        case Type::s32:
            return each<F, std::int32_t, std::int32_t, std::int32_t>;
        case Type::u64:
            return each<F, std::uint64_t, std::uint64_t, std::uint64_t>;
        case Type::s64:
            return each<F, std::int64_t, std::int64_t, std::int64_t>;
        default:
            return nullptr;
    }
}
/// For operations whose bits don't depend on the sign.
template <typename F>
Handler binary_wrapping(Type type) {
    if (!is_integer(type)) {
        return nullptr;
    }
    const std::uint32_t bits = bits_of(type);
    return binary<F>(bits == 16 ? Type::u16 : bits == 32 ? Type::u32 : Type::u64);
}
template <typename F>
Handler ternary(Type type) {
    switch (type) {
        case Type::u16:
            return each<F, std::uint16_t, std::uint16_t, std::uint16_t, std::uint16_t>;
        case Type::s16:
            return each<F, std::int16_t, std::int16_t, std::int16_t, std::int16_t>;
        case Type::u32:
            return each<F, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>;
        case Type::s32:
            return each<F, std::int32_t, std::int32_t, std::int32_t, std::int32_t>;
        case Type::u64:
            return each<F, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t>;
        case Type::s64:
            return each<F, std::int64_t, std::int64_t, std::int64_t, std::int64_t>;
        default:
            return nullptr;
    }
}
Handler wide2(Type type) {
    switch (type) {
        case Type::u16:
            return each<MulWide, std::uint32_t, std::uint16_t, std::uint16_t>;
        case Type::s16:
            return each<MulWide, std::int32_t, std::int16_t, std::int16_t>;
        case Type::u32:
            return each<MulWide, std::uint64_t, std::uint32_t, std::uint32_t>;
        case Type::s32:
            return each<MulWide, std::int64_t, std::int32_t, std::int32_t>;
        default:
            return nullptr;
    }
}
Handler wide3(Type type) {
    switch (type) {
        case Type::u16:
            return each<MadWide, std::uint32_t, std::uint16_t, std::uint16_t, std::uint32_t>;
        case Type::s16:
            return each<MadWide, std::int32_t, std::int16_t, std::int16_t, std::int32_t>;
        case Type::u32:
            return each<MadWide, std::uint64_t, std::uint32_t, std::uint32_t, std::uint64_t>;
        case Type::s32:
            return each<MadWide, std::int64_t, std::int32_t, std::int32_t, std::int64_t>;
        default:
            return nullptr;
    }
}
Type wider(Type type) {
    switch (type) {
        case Type::u16:
            return Type::u32;
        case Type::s16:
            return Type::s32;
        case Type::u32:
            return Type::u64;
        default:
            return Type::s64;
    }
}
template <typename F>
Handler only24(Type type) {
    return type == Type::u32 || type == Type::s32 ? binary<F>(type) : nullptr;
}
template <typename F>
Handler mad24(Type type) {
    return type == Type::u32 || type == Type::s32 ? ternary<F>(type) : nullptr;
}
template <typename F>
Handler pairwise(Type type) {
    using Unsigned = Pairwise<F, std::uint16_t>;
    using Signed = Pairwise<F, std::int16_t>;
    return type == Type::u16x2 ? each<Unsigned, std::uint32_t, std::uint32_t, std::uint32_t>
                               : each<Signed, std::uint32_t, std::uint32_t, std::uint32_t>;
}

Form form_of(Handler handler, Type type, unsigned sources, std::uint16_t price = cost::kArithmetic) {
    Form form;
    form.handler = handler;
    form.destination = type;
    for (unsigned i = 0; i < sources; ++i) {
        form.sources[i] = type;
    }
    form.cost = price;
    return form;
}

Form multiply(Parts& parts, bool add) {
    const std::string_view part = parts.take_any({"lo", "hi", "wide"});
    const Type type = parts.take_type();
    const unsigned sources = add ? 3 : 2;
    if (part == "wide") {
        Form form = form_of(add ? wide3(type) : wide2(type), type, sources);
        form.destination = wider(type);
        if (add) {
            form.sources[2] = form.destination;
        }
        return form;
    }
    if (part == "lo") {
        return form_of(add ? ternary<MadLow>(type) : binary_wrapping<MulLow>(type), type, sources);
    }
    if (part == "hi" && add && type == Type::s32 && parts.take("sat")) {
        return form_of(each<MadHighSaturated, std::int32_t, std::int32_t, std::int32_t, std::int32_t>, type, 3);
    }
    return part == "hi" ? form_of(add ? ternary<MadHigh>(type) : binary<MulHigh>(type), type, sources) : Form{};
}

Form multiply24(Parts& parts, bool add) {
    const std::string_view part = parts.take_any({"lo", "hi"});
    const Type type = parts.take_type();
    if (!add) {
        return form_of(part == "lo" ? only24<Mul24Low>(type) : only24<Mul24High>(type), type, 2);
    }
    if (part == "hi" && type == Type::s32 && parts.take("sat")) {
        return form_of(each<Mad24HighSaturated, std::int32_t, std::int32_t, std::int32_t, std::int32_t>, type, 3);
    }
    return form_of(part == "lo" ? mad24<Mad24Low>(type) : mad24<Mad24High>(type), type, 3);
}

Form extremum(Parts& parts, bool maximum, Type type) {
    const bool relu = parts.take("relu");
    if (type == Type::u16x2 || type == Type::s16x2) {
        if (relu && type == Type::s16x2) {
            return form_of(maximum ? pairwise<Relu<Max>>(type) : pairwise<Relu<Min>>(type), type, 2);
        }
        return relu ? Form{} : form_of(maximum ? pairwise<Max>(type) : pairwise<Min>(type), type, 2);
    }
    if (relu) {
        return type == Type::s32 ? form_of(maximum ? binary<Relu<Max>>(type) : binary<Relu<Min>>(type), type, 2)
                                 : Form{};
    }
    return form_of(maximum ? binary<Max>(type) : binary<Min>(type), type, 2);
}

Form sum(Parts& parts, bool subtract, Type type) {
    if (type == Type::u16x2 || type == Type::s16x2) {
        return form_of(subtract ? pairwise<Sub>(type) : pairwise<Add>(type), type, 2);
    }
    if (type == Type::s32 && parts.take("sat")) {
        return form_of(subtract ? each<SubSaturated, std::int32_t, std::int32_t, std::int32_t>
                                : each<AddSaturated, std::int32_t, std::int32_t, std::int32_t>,
                       type, 2);
    }
    return form_of(subtract ? binary_wrapping<Sub>(type) : binary_wrapping<Add>(type), type, 2);
}

/// The type, left in place: families share roots ("add") and tell themselves apart by it.
Type peek_type(const Parts& parts) {
    Parts copy = parts;
    return copy.take_type();
}

}  // namespace

Form select_integer(Parts& parts, bool& found) {
    const std::string_view root = parts.root();
    if (root == "mul24" || root == "mad24") {
        found = true;
        return multiply24(parts, root == "mad24");
    }
    const Type type = peek_type(parts);
    if (!is_integer(type) && type != Type::u16x2 && type != Type::s16x2) {
        return {};
    }
    found = true;
    if (root == "mul" || root == "mad") {
        return multiply(parts, root == "mad");
    }
    if (root == "add" || root == "sub" || root == "min" || root == "max") {
        parts.take_type();
        return root == "add" || root == "sub" ? sum(parts, root == "sub", type) : extremum(parts, root == "max", type);
    }
    if (root == "sad") {
        parts.take_type();
        return form_of(ternary<Sad>(type), type, 3);
    }
    if (root == "div" || root == "rem") {
        parts.take_type();
        return form_of(root == "div" ? binary<Div>(type) : binary<Rem>(type), type, 2, cost::kDivision);
    }
    if (root == "abs" || root == "neg") {
        parts.take_type();
        return form_of(root == "abs" ? unary<Abs>(type) : unary<Neg>(type), type, 1);
    }
    found = false;
    return {};
}

}  // namespace egpu::simulated
