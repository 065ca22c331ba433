// SPDX-License-Identifier: Apache-2.0
// setp, selp, slct, testp, copysign (PTX ISA 9.0, sections 9.7.6 and 9.7.3). set is made of setp and selp by the
// decoder.
#include <cmath>
#include <utility>

#include "gpu/simulated/executor/machine/cost.hpp"
#include "gpu/simulated/executor/operations/float_value.hpp"
#include "gpu/simulated/executor/operations/form.hpp"
#include "gpu/simulated/executor/operations/half_value.hpp"
#include "gpu/simulated/executor/operations/lane.hpp"

namespace egpu::simulated {
namespace {

// Ordered comparisons are false where an operand is NaN, unordered ones (equ ...) true.
struct Equal {
    template <typename T>
    static bool test(T a, T b) {
        return a == b;
    }
};
struct NotEqual {
    template <typename T>
    static bool test(T a, T b) {
        return a < b || a > b;
    }
};
struct Less {
    template <typename T>
    static bool test(T a, T b) {
        return a < b;
    }
};
struct LessEqual {
    template <typename T>
    static bool test(T a, T b) {
        return a <= b;
    }
};
struct Greater {
    template <typename T>
    static bool test(T a, T b) {
        return a > b;
    }
};
struct GreaterEqual {
    template <typename T>
    static bool test(T a, T b) {
        return a >= b;
    }
};
struct Number {
    template <typename T>
    static bool test(T a, T b) {
        return a == a && b == b;
    }
};
template <typename F>
struct Not {
    template <typename T>
    static bool test(T a, T b) {
        return !F::test(a, b);
    }
};

enum Combination : std::uint8_t { kPlain, kAnd, kOr, kXor };

Mask combine(std::uint8_t how, Mask result, Mask with) {
    switch (how) {
        case kAnd:
            return result & with;
        case kOr:
            return result | with;
        case kXor:
            return result ^ with;
        default:
            return result;
    }
}

/// What is compared: integers and doubles as they are, f32 flushed or not, narrow floats as float.
template <typename T, bool Flush>
auto comparable(Stored<T> bits) {
    const T value = get<T>(bits);
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, Brain>) {
        return Flush ? flush(to_float(value)) : to_float(value);
    } else if constexpr (Flush) {
        return flush(value);
    } else {
        return value;
    }
}

void write_pair(Context& context, const Instruction& instruction, Mask mask, Mask result, Mask opposite) {
    Mask with = kAllLanes;
    if (instruction.variant != kPlain) {
        with = mask_at(context, instruction.sources[2]) ^ (instruction.source_negated ? kAllLanes : 0);
    }
    const Mask p = combine(instruction.variant, result, with) & mask;
    const Mask q = combine(instruction.variant, opposite, with) & mask;
    Mask& destination = mask_at(context, instruction.destination);
    destination = (destination & ~mask) | p;
    if (instruction.has_second) {
        Mask& second = mask_at(context, instruction.second_destination);
        second = (second & ~mask) | q;
    }
}

template <typename F, typename T, bool Flush>
bool set_predicate(Context& context, const Instruction& instruction, Mask mask) {
    const auto* const a = row_at<const Stored<T>>(context, instruction.sources[0]);
    const auto* const b = row_at<const Stored<T>>(context, instruction.sources[1]);
    const Mask result = mask_where(
        mask, [&](unsigned lane) { return F::test(comparable<T, Flush>(a[lane]), comparable<T, Flush>(b[lane])); });
    write_pair(context, instruction, mask, result, ~result);
    return true;
}

/// f16x2: p is the comparison of the low halves, q that of the high ones.
template <typename F, typename T, bool Flush>
bool set_predicate_pair(Context& context, const Instruction& instruction, Mask mask) {
    const auto* const a = row_at<const std::uint32_t>(context, instruction.sources[0]);
    const auto* const b = row_at<const std::uint32_t>(context, instruction.sources[1]);
    const Mask low = mask_where(mask, [&](unsigned lane) {
        return F::test(comparable<T, Flush>(a[lane] & 0xffff), comparable<T, Flush>(b[lane] & 0xffff));
    });
    const Mask high = mask_where(mask, [&](unsigned lane) {
        return F::test(comparable<T, Flush>(a[lane] >> 16), comparable<T, Flush>(b[lane] >> 16));
    });
    write_pair(context, instruction, mask, low, high);
    return true;
}

template <typename F>
Handler for_floats(Type type, bool flush) {
    switch (type) {
        case Type::f32:
            return flush ? set_predicate<F, float, true> : set_predicate<F, float, false>;
        case Type::f64:
            return flush ? nullptr : set_predicate<F, double, false>;
        case Type::f16:
            return set_predicate<F, Half, false>;
        case Type::bf16:
            return flush ? nullptr : set_predicate<F, Brain, false>;
        case Type::f16x2:
            return set_predicate_pair<F, Half, false>;
        case Type::bf16x2:
            return flush ? nullptr : set_predicate_pair<F, Brain, false>;
        default:
            return nullptr;
    }
}
template <typename F>
Handler for_integers(Type type) {
    switch (type) {
        case Type::u16:
            return set_predicate<F, std::uint16_t, false>;
        case Type::s16:
            return set_predicate<F, std::int16_t, false>;
        case Type::u32:
            return set_predicate<F, std::uint32_t, false>;
        case Type::s32:
            return set_predicate<F, std::int32_t, false>;
        case Type::u64:
            return set_predicate<F, std::uint64_t, false>;
        case Type::s64:
            return set_predicate<F, std::int64_t, false>;
        default:
            return nullptr;
    }
}

Type unsigned_of(Type type) {
    switch (bits_of(type)) {
        case 16:
            return Type::u16;
        case 32:
            return Type::u32;
        default:
            return Type::u64;
    }
}

template <typename F>
Handler for_all(Type type, bool flush) {
    return is_integer(type) ? for_integers<F>(type) : for_floats<F>(type, flush);
}

Handler comparison_handler(std::string_view name, Type type, bool flush) {
    const bool integer = is_integer(type) || is_bits(type);
    if (name == "eq" || name == "ne") {
        const Type as = is_bits(type) ? unsigned_of(type) : type;
        return name == "eq" ? for_all<Equal>(as, flush) : for_all<NotEqual>(as, flush);
    }
    if (is_bits(type)) {
        return nullptr;
    }
    if (is_unsigned(type)) {
        name = name == "lo" ? "lt" : name == "ls" ? "le" : name == "hi" ? "gt" : name == "hs" ? "ge" : name;
    }
    if (name == "lt") {
        return for_all<Less>(type, flush);
    }
    if (name == "le") {
        return for_all<LessEqual>(type, flush);
    }
    if (name == "gt") {
        return for_all<Greater>(type, flush);
    }
    if (name == "ge") {
        return for_all<GreaterEqual>(type, flush);
    }
    if (integer) {
        return nullptr;
    }
    if (name == "equ") {
        return for_floats<Not<NotEqual>>(type, flush);
    }
    if (name == "neu") {
        return for_floats<Not<Equal>>(type, flush);
    }
    if (name == "ltu") {
        return for_floats<Not<GreaterEqual>>(type, flush);
    }
    if (name == "leu") {
        return for_floats<Not<Greater>>(type, flush);
    }
    if (name == "gtu") {
        return for_floats<Not<LessEqual>>(type, flush);
    }
    if (name == "geu") {
        return for_floats<Not<Less>>(type, flush);
    }
    if (name == "num") {
        return for_floats<Number>(type, flush);
    }
    return name == "nan" ? for_floats<Not<Number>>(type, flush) : nullptr;
}

Form set_predicate_form(Parts& parts) {
    Form form;
    const std::string_view name = parts.take_any({"eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "equ",
                                                  "neu", "ltu", "leu", "gtu", "geu", "num", "nan"});
    const std::string_view combination = parts.take_any({"and", "or", "xor"});
    const bool flush = parts.take("ftz");
    const Type type = parts.take_type();
    form.handler = comparison_handler(name, type, flush);
    form.destination = Type::pred;
    form.second_destination = Type::pred;
    form.sources[0] = form.sources[1] = type;
    if (!combination.empty()) {
        form.sources[2] = Type::pred;
        form.variant = combination == "and" ? kAnd : combination == "or" ? kOr : kXor;
    }
    form.cost = cost::kArithmetic;
    return form;
}

template <typename T>
bool select_by_predicate(Context& context, const Instruction& instruction, Mask mask) {
    auto* const destination = row_at<T>(context, instruction.destination);
    const auto* const a = row_at<const T>(context, instruction.sources[0]);
    const auto* const b = row_at<const T>(context, instruction.sources[1]);
    const Mask choice = mask_at(context, instruction.sources[2]) ^ (instruction.source_negated ? kAllLanes : 0);
    for_lanes(mask, [&](unsigned lane) { destination[lane] = (choice >> lane & 1) != 0 ? a[lane] : b[lane]; });
    return true;
}

struct SelectBySign {
    template <typename T>
    static T apply(T a, T b, std::int32_t c) {
        return c >= 0 ? a : b;
    }
    template <typename T>
    static T apply(T a, T b, float c) {
        return c >= 0 ? a : b;
    }
};
struct SelectBySignFlushed {
    template <typename T>
    static T apply(T a, T b, float c) {
        return flush(c) >= 0 ? a : b;
    }
};

template <typename T>
Handler select_by_sign(Type by, bool flush) {
    if (by == Type::s32) {
        return flush ? nullptr : each<SelectBySign, T, T, T, std::int32_t>;
    }
    if (by == Type::f32) {
        return flush ? each<SelectBySignFlushed, T, T, T, float> : each<SelectBySign, T, T, T, float>;
    }
    return nullptr;
}

Form select_form(Parts& parts, bool by_sign) {
    Form form;
    const bool flush = by_sign && parts.take("ftz");
    const Type type = parts.take_type();
    if (type == Type::none || type == Type::pred || bits_of(type) == 8) {
        return form;
    }
    form.destination = form.sources[0] = form.sources[1] = type;
    const bool wide = bits_of(type) == 64;
    if (by_sign) {
        form.sources[2] = parts.take_type();
        form.handler = wide ? select_by_sign<std::uint64_t>(form.sources[2], flush)
                            : select_by_sign<std::uint32_t>(form.sources[2], flush);
    } else {
        form.sources[2] = Type::pred;
        form.handler = wide ? select_by_predicate<std::uint64_t> : select_by_predicate<std::uint32_t>;
    }
    form.cost = cost::kArithmetic;
    return form;
}

enum Property : std::uint8_t { kFinite, kInfinite, kNumber, kNotANumber, kNormal, kSubnormal };

template <typename T>
bool has_property(T value, std::uint8_t property) {
    switch (property) {
        case kFinite:
            return std::isfinite(value);
        case kInfinite:
            return std::isinf(value);
        case kNumber:
            return !std::isnan(value);
        case kNotANumber:
            return std::isnan(value);
        case kNormal:
            return std::isnormal(value) || value == 0;  // zeros count as normal (PTX ISA 9.0, testp)
        default:
            return std::fpclassify(value) == FP_SUBNORMAL;
    }
}
template <typename T>
bool test_property(Context& context, const Instruction& instruction, Mask mask) {
    const auto* const a = row_at<const Stored<T>>(context, instruction.sources[0]);
    const Mask result =
        mask_where(mask, [&](unsigned lane) { return has_property(get<T>(a[lane]), instruction.variant); });
    Mask& destination = mask_at(context, instruction.destination);
    destination = (destination & ~mask) | result;
    return true;
}
Form test_form(Parts& parts) {
    static constexpr std::pair<std::string_view, Property> kProperties[] = {
        {"finite", kFinite},         {"infinite", kInfinite}, {"number", kNumber},
        {"notanumber", kNotANumber}, {"normal", kNormal},     {"subnormal", kSubnormal}};
    Form form;
    form.destination = Type::pred;
    form.cost = cost::kArithmetic;
    for (const auto& [name, property] : kProperties) {
        if (parts.take(name)) {
            form.sources[0] = parts.take_type();
            form.variant = property;
            form.handler = form.sources[0] == Type::f32   ? test_property<float>
                           : form.sources[0] == Type::f64 ? test_property<double>
                                                          : nullptr;
            break;
        }
    }
    return form;
}

/// The sign of a, the rest of b.
template <typename T>
struct CopySign {
    static T apply(T a, T b) {
        constexpr T sign = T{1} << (sizeof(T) * 8 - 1);
        return (a & sign) | (b & ~sign);
    }
};

}  // namespace

Form select_compare(Parts& parts, bool& found) {
    const std::string_view root = parts.root();
    found = true;
    if (root == "setp") {
        return set_predicate_form(parts);
    }
    if (root == "selp" || root == "slct") {
        return select_form(parts, root == "slct");
    }
    if (root == "testp") {
        return test_form(parts);
    }
    if (root == "copysign") {
        Form form;
        form.destination = form.sources[0] = form.sources[1] = parts.take_type();
        form.cost = cost::kArithmetic;
        form.handler =
            form.destination == Type::f32   ? each<CopySign<std::uint32_t>, std::uint32_t, std::uint32_t, std::uint32_t>
            : form.destination == Type::f64 ? each<CopySign<std::uint64_t>, std::uint64_t, std::uint64_t, std::uint64_t>
                                            : nullptr;
        return form;
    }
    found = false;
    return {};
}

}  // namespace egpu::simulated
