// SPDX-License-Identifier: Apache-2.0
// Bit operations and small dot products (PTX ISA 9.0, sections 9.7.1.13 to 9.7.1.23): popc, clz, bfind, fns, brev, bfe,
// bfi, bmsk, szext, dp4a, dp2a.
#include <algorithm>
#include <bit>

#include "gpu/simulated/executor/machine/cost.hpp"
#include "gpu/simulated/executor/operations/form.hpp"
#include "gpu/simulated/executor/operations/lane.hpp"

namespace egpu::simulated {
namespace {

struct CountOnes {
    template <typename T>
    static std::uint32_t apply(T a) {
        return static_cast<std::uint32_t>(std::popcount(a));
    }
};
struct LeadingZeros {
    template <typename T>
    static std::uint32_t apply(T a) {
        return static_cast<std::uint32_t>(std::countl_zero(a));
    }
};
/// The highest bit that differs from the sign (or that is set, for unsigned); all ones if there is none.
template <bool ShiftAmount>
struct FindHighest {
    template <typename T>
    static std::uint32_t apply(T a) {
        using U = std::make_unsigned_t<T>;
        auto bits = static_cast<U>(a);
        if constexpr (std::is_signed_v<T>) {
            bits = a < 0 ? static_cast<U>(~bits) : bits;
        }
        if (bits == 0) {
            return ~std::uint32_t{0};
        }
        const auto zeros = static_cast<std::uint32_t>(std::countl_zero(bits));
        return ShiftAmount ? zeros : static_cast<std::uint32_t>(sizeof(T) * 8 - 1) - zeros;
    }
};
struct Reverse {
    template <typename T>
    static T apply(T a) {
        T result = 0;
        for (unsigned i = 0; i < sizeof(T) * 8; ++i) {
            result = static_cast<T>(result << 1 | (a >> i & 1));
        }
        return result;
    }
};
/// Bits [pos, pos + len) of a, extended with the field's highest bit for signed types.
struct Extract {
    template <typename T>
    static T apply(T a, std::uint32_t b, std::uint32_t c) {
        using U = std::make_unsigned_t<T>;
        constexpr std::uint32_t width = sizeof(T) * 8;
        const std::uint32_t position = b & 0xff, length = c & 0xff;
        const auto bits = static_cast<U>(a);
        U sign = 0;
        if (std::is_signed_v<T> && length != 0) {
            sign = bits >> std::min(position + length - 1, width - 1) & 1;
        }
        const U field = position < width ? static_cast<U>(bits >> position) : U{0};
        const std::uint32_t valid = position < width ? std::min(length, width - position) : 0;
        const U mask = valid >= width ? ~U{0} : static_cast<U>((U{1} << valid) - 1);
        return static_cast<T>((field & mask) | (sign != 0 ? ~mask : U{0}));
    }
};
/// b with bits [pos, pos + len) replaced by the low ones of a.
struct Insert {
    template <typename T>
    static T apply(T a, T b, std::uint32_t c, std::uint32_t d) {
        constexpr std::uint32_t width = sizeof(T) * 8;
        const std::uint32_t position = c & 0xff, length = d & 0xff;
        if (position >= width) {
            return b;
        }
        const std::uint32_t valid = std::min(length, width - position);
        const T mask = static_cast<T>((valid >= width ? ~T{0} : static_cast<T>((T{1} << valid) - 1)) << position);
        return static_cast<T>((b & ~mask) | (static_cast<T>(a << position) & mask));
    }
};
struct FindNth {
    static std::uint32_t apply(std::uint32_t mask, std::uint32_t base, std::int32_t offset) {
        if (offset == 0) {
            return base < 32 && (mask >> base & 1) != 0 ? base : ~std::uint32_t{0};
        }
        std::int64_t count = (offset < 0 ? -std::int64_t{offset} : std::int64_t{offset}) - 1;
        const std::int64_t step = offset < 0 ? -1 : 1;
        for (std::int64_t at = base; at >= 0 && at < 32; at += step) {
            if ((mask >> at & 1) != 0 && count-- == 0) {
                return static_cast<std::uint32_t>(at);
            }
        }
        return ~std::uint32_t{0};
    }
};
/// Ones from bit a, b of them.
template <bool Clamp>
struct MakeMask {
    static std::uint32_t apply(std::uint32_t a, std::uint32_t b) {
        const std::uint32_t from = Clamp ? std::min(a, 32U) : a & 31;
        const std::uint32_t count = Clamp ? std::min(b, 32U) : b & 31;
        const std::uint64_t ones = ((std::uint64_t{1} << count) - 1) << from;
        return static_cast<std::uint32_t>(ones);
    }
};
/// The low b bits of a, extended.
template <bool Clamp>
struct Extend {
    template <typename T>
    static T apply(T a, std::uint32_t b) {
        const std::uint32_t count = Clamp ? std::min(b, 32U) : b & 31;
        if (count == 0) {
            return 0;
        }
        const std::uint32_t shift = 32 - count;
        return static_cast<T>(static_cast<T>(static_cast<std::uint32_t>(a) << shift) >> shift);
    }
};

std::int32_t byte_of(std::uint32_t value, unsigned index, bool sign) {
    const auto byte = static_cast<std::uint8_t>(value >> (8 * index));
    return sign ? static_cast<std::int8_t>(byte) : byte;
}
/// The signs are template parameters so that the loop stays a loop.
template <bool SignA, bool SignB>
struct Dot4 {
    static std::uint32_t apply(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
        std::uint32_t sum = c;
        for (unsigned i = 0; i < 4; ++i) {
            sum += static_cast<std::uint32_t>(byte_of(a, i, SignA) * byte_of(b, i, SignB));
        }
        return sum;
    }
};
template <bool SignA, bool SignB, bool High>
struct Dot2 {
    static std::uint32_t apply(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
        std::uint32_t sum = c;
        for (unsigned i = 0; i < 2; ++i) {
            const auto half = static_cast<std::uint16_t>(a >> (16 * i));
            const std::int32_t wide = SignA ? static_cast<std::int16_t>(half) : half;
            sum += static_cast<std::uint32_t>(wide * byte_of(b, i + (High ? 2 : 0), SignB));
        }
        return sum;
    }
};

using W = std::uint32_t;
using D = std::uint64_t;

template <typename F>
Form count_form(Parts& parts) {
    Form form;
    form.destination = Type::u32;
    form.sources[0] = parts.take_type();
    form.cost = cost::kArithmetic;
    form.handler = form.sources[0] == Type::b32   ? each<F, W, W>
                   : form.sources[0] == Type::b64 ? each<F, W, D>
                                                  : nullptr;
    return form;
}

template <bool ShiftAmount>
Handler find_highest(Type type) {
    using F = FindHighest<ShiftAmount>;
    switch (type) {
        case Type::u32:
            return each<F, W, std::uint32_t>;
        case Type::s32:
            return each<F, W, std::int32_t>;
        case Type::u64:
            return each<F, W, std::uint64_t>;
        case Type::s64:
            return each<F, W, std::int64_t>;
        default:
            return nullptr;
    }
}

Form field_form(Parts& parts, bool insert) {
    Form form;
    const Type type = parts.take_type();
    form.destination = form.sources[0] = type;
    form.cost = cost::kArithmetic;
    if (insert) {
        form.sources[1] = type;
        form.sources[2] = form.sources[3] = Type::u32;
        form.handler = type == Type::b32   ? each<Insert, W, W, W, W, W>
                       : type == Type::b64 ? each<Insert, D, D, D, W, W>
                                           : nullptr;
        return form;
    }
    form.sources[1] = form.sources[2] = Type::u32;
    switch (type) {
        case Type::u32:
            form.handler = each<Extract, W, W, W, W>;
            break;
        case Type::s32:
            form.handler = each<Extract, std::int32_t, std::int32_t, W, W>;
            break;
        case Type::u64:
            form.handler = each<Extract, D, D, W, W>;
            break;
        case Type::s64:
            form.handler = each<Extract, std::int64_t, std::int64_t, W, W>;
            break;
        default:
            break;
    }
    return form;
}

Form mask_or_extend_form(Parts& parts, bool extend) {
    Form form;
    const bool clamp = parts.take("clamp");
    if (!clamp && !parts.take("wrap")) {
        return form;
    }
    const Type type = parts.take_type();
    form.destination = form.sources[0] = type;
    form.sources[1] = Type::u32;
    form.cost = cost::kArithmetic;
    using S = std::int32_t;
    if (!extend) {
        form.handler = type != Type::b32 ? nullptr
                       : clamp           ? each<MakeMask<true>, W, W, W>
                                         : each<MakeMask<false>, W, W, W>;
    } else if (type == Type::u32) {
        form.handler = clamp ? each<Extend<true>, W, W, W> : each<Extend<false>, W, W, W>;
    } else if (type == Type::s32) {
        form.handler = clamp ? each<Extend<true>, S, S, W> : each<Extend<false>, S, S, W>;
    }
    return form;
}

template <bool High>
Handler dot2(bool sign_a, bool sign_b) {
    if (sign_a) {
        return sign_b ? each<Dot2<true, true, High>, W, W, W, W> : each<Dot2<true, false, High>, W, W, W, W>;
    }
    return sign_b ? each<Dot2<false, true, High>, W, W, W, W> : each<Dot2<false, false, High>, W, W, W, W>;
}
Handler dot4(bool sign_a, bool sign_b) {
    if (sign_a) {
        return sign_b ? each<Dot4<true, true>, W, W, W, W> : each<Dot4<true, false>, W, W, W, W>;
    }
    return sign_b ? each<Dot4<false, true>, W, W, W, W> : each<Dot4<false, false>, W, W, W, W>;
}

Form dot_form(Parts& parts, bool four) {
    Form form;
    const std::string_view half = four ? std::string_view() : parts.take_any({"lo", "hi"});
    const Type a = parts.take_type();
    const Type b = parts.take_type();
    if ((a != Type::u32 && a != Type::s32) || (b != Type::u32 && b != Type::s32) || (!four && half.empty())) {
        return form;
    }
    form.destination = form.sources[2] = a == Type::u32 && b == Type::u32 ? Type::u32 : Type::s32;
    form.sources[0] = a;
    form.sources[1] = b;
    form.cost = cost::kArithmetic;
    form.handler = four           ? dot4(is_signed(a), is_signed(b))
                   : half == "hi" ? dot2<true>(is_signed(a), is_signed(b))
                                  : dot2<false>(is_signed(a), is_signed(b));
    return form;
}

}  // namespace

Form select_bits(Parts& parts, bool& found) {
    const std::string_view root = parts.root();
    found = true;
    if (root == "popc" || root == "clz") {
        return root == "popc" ? count_form<CountOnes>(parts) : count_form<LeadingZeros>(parts);
    }
    Form form;
    form.cost = cost::kArithmetic;
    if (root == "bfind") {
        const bool shift = parts.take("shiftamt");
        form.destination = Type::u32;
        form.sources[0] = parts.take_type();
        form.handler = shift ? find_highest<true>(form.sources[0]) : find_highest<false>(form.sources[0]);
        return form;
    }
    if (root == "brev") {
        form.destination = form.sources[0] = parts.take_type();
        form.handler = form.destination == Type::b32   ? each<Reverse, W, W>
                       : form.destination == Type::b64 ? each<Reverse, D, D>
                                                       : nullptr;
        return form;
    }
    if (root == "bfe" || root == "bfi") {
        return field_form(parts, root == "bfi");
    }
    if (root == "fns") {
        form.destination = form.sources[0] = parts.take_type();
        form.sources[1] = Type::b32;
        form.sources[2] = Type::s32;
        form.handler = form.destination == Type::b32 ? each<FindNth, W, W, W, std::int32_t> : nullptr;
        return form;
    }
    if (root == "bmsk" || root == "szext") {
        return mask_or_extend_form(parts, root == "szext");
    }
    if (root == "dp4a" || root == "dp2a") {
        return dot_form(parts, root == "dp4a");
    }
    found = false;
    return {};
}

}  // namespace egpu::simulated
