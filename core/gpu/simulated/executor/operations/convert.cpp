// SPDX-License-Identifier: Apache-2.0
// cvt between all scalar types (PTX ISA 9.0, section 9.7.9.19). Compiled with -frounding-math.
#include <bit>
#include <cfenv>
#include <cmath>
#include <limits>

#include "gpu/simulated/executor/machine/cost.hpp"
#include "gpu/simulated/executor/operations/float_value.hpp"
#include "gpu/simulated/executor/operations/form.hpp"
#include "gpu/simulated/executor/operations/half_value.hpp"
#include "gpu/simulated/executor/operations/lane.hpp"
#include "gpu/simulated/executor/operations/narrow_float.hpp"

namespace egpu::simulated {
namespace {

// In Instruction::variant: rounding in the low two bits.
enum Flags : std::uint8_t { kModeBits = 3, kToIntegral = 4, kFlush = 8, kSaturate = 16, kRelu = 32, kFinite = 64 };

template <typename T>
constexpr bool kNarrow = std::is_same_v<T, Half> || std::is_same_v<T, Brain>;
template <typename T>
constexpr bool kFloat = std::is_floating_point_v<T> || kNarrow<T>;

Rounding mode_of(std::uint8_t flags) {
    return static_cast<Rounding>(flags & kModeBits);
}

int host_mode(Rounding rounding) {
    switch (rounding) {
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

/// To an integral value; the host's mode is to nearest.
double integral(double value, Rounding rounding) {
    switch (rounding) {
        case Rounding::zero:
            return std::trunc(value);
        case Rounding::down:
            return std::floor(value);
        case Rounding::up:
            return std::ceil(value);
        default:
            return std::nearbyint(value);
    }
}

template <typename A>
double widen(A value, std::uint8_t flags) {
    if constexpr (kNarrow<A>) {
        return double{to_float(value)};
    } else if constexpr (std::is_same_v<A, float>) {
        return double{(flags & kFlush) != 0 ? flush(value) : value};
    } else {
        return value;
    }
}

/// NaN is 0, but 1 << (bits - 1) where source or destination has 64 bits; the rest is clamped to the destination's
/// range.
template <typename D, typename A>
D float_to_integer(A value, std::uint8_t flags) {
    const double wide = widen(value, flags);
    if (wide != wide) {
        constexpr bool high_bit = sizeof(D) == 8 || sizeof(A) == 8;
        return high_bit ? static_cast<D>(std::uint64_t{1} << (sizeof(D) * 8 - 1)) : D{0};
    }
    const double rounded = integral(wide, mode_of(flags));
    constexpr D least = std::numeric_limits<D>::min();
    constexpr D most = std::numeric_limits<D>::max();
    // 2^63 and 2^64 are doubles, their predecessors as integers are not: compare with the bound above.
    const double above = std::ldexp(1.0, std::numeric_limits<D>::digits);
    if (rounded >= above) {
        return most;
    }
    if (rounded < static_cast<double>(least)) {
        return least;
    }
    return static_cast<D>(rounded);
}

/// A double that rounds to any narrower format as the integer would: bits below the 53rd are kept as one sticky bit.
template <typename A>
double sticky(A value) {
    if constexpr (sizeof(A) < 8) {
        return static_cast<double>(value);
    } else {
        const bool negative = value < 0;
        std::uint64_t magnitude = negative ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
        if (magnitude >> 53 != 0) {
            magnitude = (magnitude & ~std::uint64_t{0x7ff}) | ((magnitude & 0x7ff) != 0 ? 0x800 : 0);
        }
        const auto result = static_cast<double>(magnitude);
        return negative ? -result : result;
    }
}

/// A NaN of f64 keeps its sign and the upper bits of its payload; others become the canonical NaN.
template <typename D>
std::uint16_t narrow_nan(double value) {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    constexpr int fraction = std::is_same_v<D, Half> ? 10 : 7;
    const std::uint64_t quiet_infinity = std::is_same_v<D, Half> ? 0x7e00 : 0x7fc0;
    return static_cast<std::uint16_t>((bits >> 48 & 0x8000) | quiet_infinity |
                                      (bits & 0xf'ffff'ffff'ffff) >> (52 - fraction));
}

template <typename D, bool FromDouble>
D finish(double value, std::uint8_t flags) {
    if ((flags & kSaturate) != 0) {
        value = saturate(value);
    }
    if ((flags & kRelu) != 0 && value == value && !(value > 0)) {
        value = 0.0;
    }
    const Rounding rounding = mode_of((flags & kToIntegral) != 0 ? std::uint8_t{0} : flags);
    if constexpr (kNarrow<D>) {
        if (FromDouble && value != value) {
            return D{narrow_nan<D>(value)};
        }
        D result = std::is_same_v<D, Half> ? D{to_half(value, rounding).bits} : D{to_brain(value, rounding).bits};
        const std::uint16_t infinity = std::is_same_v<D, Half> ? 0x7c00 : 0x7f80;
        if ((flags & kFinite) != 0 && (result.bits & 0x7fff) == infinity) {
            result.bits = static_cast<std::uint16_t>(result.bits - 1);
        }
        return result;
    } else if constexpr (std::is_same_v<D, float>) {
        const auto result = static_cast<float>(value);  // in the mode that the loop has set
        if ((flags & kFlush) != 0) {
            // Tiny is what is below the least normal number after rounding with an unbounded exponent.
            const bool tiny =
                std::fabs(result) == 0x1p-126F && std::fabs(static_cast<float>(value * 0x1p100)) < 0x1p-26F;
            return FromDouble ? (tiny ? std::copysign(0.0F, result) : flush(result)) : canonical(flush(result));
        }
        return FromDouble ? result : canonical(result);
    } else {
        return value;
    }
}

template <typename D, typename A>
D convert_one(A value, std::uint8_t flags) {
    if constexpr (kFloat<A> && kFloat<D>) {
        double wide = widen(value, flags);
        if ((flags & kToIntegral) != 0) {
            wide = integral(wide, mode_of(flags));
        }
        return finish<D, std::is_same_v<A, double>>(wide, flags);
    } else if constexpr (kFloat<A>) {
        return float_to_integer<D>(value, flags);
    } else if constexpr (kNarrow<D>) {
        return finish<D, false>(sticky(value), flags);
    } else if constexpr (kFloat<D>) {
        const auto result = static_cast<D>(value);  // rounded once, in the mode that the loop has set
        return (flags & kSaturate) != 0 ? saturate(result) : result;
    } else {
        if ((flags & kSaturate) != 0) {
            if (std::cmp_less(value, std::numeric_limits<D>::min())) {
                return std::numeric_limits<D>::min();
            }
            if (std::cmp_greater(value, std::numeric_limits<D>::max())) {
                return std::numeric_limits<D>::max();
            }
        }
        return static_cast<D>(value);
    }
}

/// Needs the host's rounding mode: what is rounded to f32 or f64 by a host conversion.
template <typename D, typename A>
constexpr bool kHostRounds = std::is_floating_point_v<D> && (!kFloat<A> || (sizeof(D) == 4 && sizeof(A) == 8));

template <typename D, typename A>
bool convert(Context& context, const Instruction& instruction, Mask mask) {
    const std::uint8_t flags = instruction.variant;
    auto* const destination = row_at<Stored<D>>(context, instruction.destination);
    const auto* const source = row_at<const Stored<A>>(context, instruction.sources[0]);
    if (flags == 0) {
        for_lanes(mask, [&](unsigned lane) { destination[lane] = put<D>(convert_one<D, A>(get<A>(source[lane]), 0)); });
        return true;
    }
    const bool directed = kHostRounds<D, A> && (flags & kToIntegral) == 0 && mode_of(flags) != Rounding::nearest;
    if (directed) {
        std::fesetround(host_mode(mode_of(flags)));
    }
    for_lanes(mask, [&](unsigned lane) { destination[lane] = put<D>(convert_one<D, A>(get<A>(source[lane]), flags)); });
    if (directed) {
        std::fesetround(FE_TONEAREST);
    }
    return true;
}

template <typename D>
Handler from_type(Type source) {
    switch (source) {
        case Type::u8:
            return convert<D, std::uint8_t>;
        case Type::s8:
            return convert<D, std::int8_t>;
        case Type::u16:
            return convert<D, std::uint16_t>;
        case Type::s16:
            return convert<D, std::int16_t>;
        case Type::u32:
            return convert<D, std::uint32_t>;
        case Type::s32:
            return convert<D, std::int32_t>;
        case Type::u64:
            return convert<D, std::uint64_t>;
        case Type::s64:
            return convert<D, std::int64_t>;
        case Type::f16:
            return convert<D, Half>;
        case Type::bf16:
            return convert<D, Brain>;
        case Type::f32:
            return convert<D, float>;
        case Type::f64:
            return convert<D, double>;
        default:
            return nullptr;
    }
}

Handler handler_of(Type destination, Type source) {
    switch (destination) {
        case Type::u8:
            return from_type<std::uint8_t>(source);
        case Type::s8:
            return from_type<std::int8_t>(source);
        case Type::u16:
            return from_type<std::uint16_t>(source);
        case Type::s16:
            return from_type<std::int16_t>(source);
        case Type::u32:
            return from_type<std::uint32_t>(source);
        case Type::s32:
            return from_type<std::int32_t>(source);
        case Type::u64:
            return from_type<std::uint64_t>(source);
        case Type::s64:
            return from_type<std::int64_t>(source);
        case Type::f16:
            return from_type<Half>(source);
        case Type::bf16:
            return from_type<Brain>(source);
        case Type::f32:
            return from_type<float>(source);
        case Type::f64:
            return from_type<double>(source);
        default:
            return nullptr;
    }
}

/// cvt.rn.f16x2.f32 d, a, b: a is the upper half of the result.
template <typename D>
bool convert_pair(Context& context, const Instruction& instruction, Mask mask) {
    auto* const destination = row_at<std::uint32_t>(context, instruction.destination);
    const auto* const high = row_at<const std::uint32_t>(context, instruction.sources[0]);
    const auto* const low = row_at<const std::uint32_t>(context, instruction.sources[1]);
    const std::uint8_t flags = instruction.variant;
    for_lanes(mask, [&](unsigned lane) {
        const std::uint32_t upper = convert_one<D, float>(get<float>(high[lane]), flags).bits;
        const std::uint32_t lower = convert_one<D, float>(get<float>(low[lane]), flags).bits;
        destination[lane] = upper << 16 | lower;
    });
    return true;
}

/// cvt.rn.f16x2.e4m3x2 d, a and .e5m2x2: the lower byte is the lower half.
template <float (*From)(std::uint8_t)>
bool widen_bytes(Context& context, const Instruction& instruction, Mask mask) {
    auto* const destination = row_at<std::uint32_t>(context, instruction.destination);
    const auto* const source = row_at<const std::uint32_t>(context, instruction.sources[0]);
    const bool relu = (instruction.variant & kRelu) != 0;
    for_lanes(mask, [&](unsigned lane) {
        const auto half = [&](std::uint32_t byte) {
            const float value = From(static_cast<std::uint8_t>(byte));
            return std::uint32_t{to_half(relu && !(value > 0) && value == value ? 0.0 : double{value}).bits};
        };
        destination[lane] = half(source[lane] >> 8) << 16 | half(source[lane]);
    });
    return true;
}

/// cvt.rn.satfinite.e4m3x2.f32 d, a, b: a is the upper byte; .f16x2 d, a.
template <std::uint8_t (*To)(double), bool Halves>
bool narrow_to_bytes(Context& context, const Instruction& instruction, Mask mask) {
    auto* const destination = row_at<std::uint32_t>(context, instruction.destination);
    const auto* const first = row_at<const std::uint32_t>(context, instruction.sources[0]);
    const auto* const second = row_at<const std::uint32_t>(context, instruction.sources[Halves ? 0 : 1]);
    const bool relu = (instruction.variant & kRelu) != 0;
    for_lanes(mask, [&](unsigned lane) {
        double high, low;
        if constexpr (Halves) {
            high = to_float(Half{static_cast<std::uint16_t>(first[lane] >> 16)});
            low = to_float(Half{static_cast<std::uint16_t>(first[lane])});
        } else {
            high = std::bit_cast<float>(first[lane]);
            low = std::bit_cast<float>(second[lane]);
        }
        const auto byte = [&](double value) {
            return std::uint32_t{To(relu && std::signbit(value) && value == value ? 0.0 : value)};
        };
        destination[lane] = byte(high) << 8 | byte(low);
    });
    return true;
}

/// Conversions of pairs of 8-bit floats, which are 16 bits of a register.
Form byte_form(Parts& parts, std::uint8_t flags) {
    Form form;
    form.variant = flags;
    form.cost = cost::kConversion;
    const std::string_view bytes = parts.take_any({"e4m3x2", "e5m2x2"});
    const Type other = parts.take_type();
    const bool finite = (flags & kFinite) != 0;
    if (finite && (other == Type::f32 || other == Type::f16x2)) {
        form.destination = Type::b16;
        form.sources[0] = other == Type::f32 ? Type::f32 : Type::b32;
        form.sources[1] = other == Type::f32 ? Type::f32 : Type::none;
        form.handler = bytes == "e4m3x2"
                           ? (other == Type::f32 ? narrow_to_bytes<to_e4m3, false> : narrow_to_bytes<to_e4m3, true>)
                           : (other == Type::f32 ? narrow_to_bytes<to_e5m2, false> : narrow_to_bytes<to_e5m2, true>);
    } else if (!finite && other == Type::f16x2) {
        form.destination = Type::b32;
        form.sources[0] = Type::b16;
        form.handler = bytes == "e4m3x2" ? widen_bytes<from_e4m3> : widen_bytes<from_e5m2>;
    }
    return form;
}

std::uint8_t take_modes(Parts& parts) {
    static constexpr std::pair<std::string_view, std::uint8_t> kModes[] = {{"rn", 0},
                                                                           {"rz", 1},
                                                                           {"rm", 2},
                                                                           {"rp", 3},
                                                                           {"rni", 0 | kToIntegral},
                                                                           {"rzi", 1 | kToIntegral},
                                                                           {"rmi", 2 | kToIntegral},
                                                                           {"rpi", 3 | kToIntegral}};
    std::uint8_t flags = 0;
    for (const auto& [name, mode] : kModes) {
        if (parts.take(name)) {
            flags = mode;
            break;
        }
    }
    flags = static_cast<std::uint8_t>(flags | (parts.take("ftz") ? kFlush : 0) | (parts.take("sat") ? kSaturate : 0) |
                                      (parts.take("relu") ? kRelu : 0) | (parts.take("satfinite") ? kFinite : 0));
    return flags;
}

}  // namespace

Form select_convert(Parts& parts, bool& found) {
    if (parts.root() != "cvt") {
        return {};
    }
    found = true;
    Form form;
    form.variant = take_modes(parts);
    if (parts.has("e4m3x2") || parts.has("e5m2x2")) {
        return byte_form(parts, form.variant);
    }
    form.destination = parts.take_type();
    form.sources[0] = parts.take_type();
    form.cost = cost::kConversion;
    if (form.destination == Type::f16x2 || form.destination == Type::bf16x2) {
        form.sources[1] = form.sources[0];
        form.handler = form.sources[0] != Type::f32      ? nullptr
                       : form.destination == Type::f16x2 ? convert_pair<Half>
                                                         : convert_pair<Brain>;
        return form;
    }
    form.handler = handler_of(form.destination, form.sources[0]);
    return form;
}

}  // namespace egpu::simulated
