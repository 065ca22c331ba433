// SPDX-License-Identifier: Apache-2.0
// atom and red (PTX ISA 9.0, sections 9.7.13.6 and 9.7.13.7), really atomic between host threads. Lanes act in order of
// their number.
#include <bit>
#include <cstring>

#include "gpu/simulated/executor/operations/half_value.hpp"
#include "gpu/simulated/executor/operations/lane.hpp"
#include "gpu/simulated/executor/operations/memory.hpp"

namespace egpu::simulated {
namespace {

template <typename T>
T compare_loop(T* pointer, auto&& next) {
    T old = __atomic_load_n(pointer, __ATOMIC_SEQ_CST);
    while (!__atomic_compare_exchange_n(pointer, &old, next(old), false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
    }
    return old;
}

struct AtomicAdd {
    template <typename T>
    static T apply(T* pointer, T b, T) {
        return __atomic_fetch_add(pointer, b, __ATOMIC_SEQ_CST);
    }
};
struct AtomicAnd {
    template <typename T>
    static T apply(T* pointer, T b, T) {
        return __atomic_fetch_and(pointer, b, __ATOMIC_SEQ_CST);
    }
};
struct AtomicOr {
    template <typename T>
    static T apply(T* pointer, T b, T) {
        return __atomic_fetch_or(pointer, b, __ATOMIC_SEQ_CST);
    }
};
struct AtomicXor {
    template <typename T>
    static T apply(T* pointer, T b, T) {
        return __atomic_fetch_xor(pointer, b, __ATOMIC_SEQ_CST);
    }
};
struct AtomicExchange {
    template <typename T>
    static T apply(T* pointer, T b, T) {
        return __atomic_exchange_n(pointer, b, __ATOMIC_SEQ_CST);
    }
};
struct AtomicCompareAndSwap {
    template <typename T>
    static T apply(T* pointer, T b, T c) {
        T expected = b;
        __atomic_compare_exchange_n(pointer, &expected, c, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
        return expected;
    }
};
struct AtomicMin {
    template <typename T>
    static T apply(T* pointer, T b, T) {
        return compare_loop(pointer, [b](T old) { return b < old ? b : old; });
    }
};
struct AtomicMax {
    template <typename T>
    static T apply(T* pointer, T b, T) {
        return compare_loop(pointer, [b](T old) { return old < b ? b : old; });
    }
};
/// d = (old >= b) ? 0 : old + 1
struct AtomicIncrement {
    static std::uint32_t apply(std::uint32_t* pointer, std::uint32_t b, std::uint32_t) {
        return compare_loop(pointer, [b](std::uint32_t old) { return old >= b ? 0U : old + 1U; });
    }
};
/// d = (old == 0 || old > b) ? b : old - 1
struct AtomicDecrement {
    static std::uint32_t apply(std::uint32_t* pointer, std::uint32_t b, std::uint32_t) {
        return compare_loop(pointer, [b](std::uint32_t old) { return old == 0 || old > b ? b : old - 1U; });
    }
};

/// Floats: the addition is done on the value, the exchange on its bits. f32 flushes subnormals in global memory only
/// on some hardware; PTX says "atom.add.f32 on global memory flushes subnormal inputs and results to sign-preserving
/// zero; on shared memory it supports subnormals". The simulated GPU supports them everywhere.
struct FloatAdd32 {
    static std::uint32_t apply(std::uint32_t* pointer, std::uint32_t b, std::uint32_t) {
        return compare_loop(pointer, [b](std::uint32_t old) {
            const float sum = std::bit_cast<float>(old) + std::bit_cast<float>(b);
            return sum != sum ? 0x7fffffffU : std::bit_cast<std::uint32_t>(sum);
        });
    }
};
struct FloatAdd64 {
    static std::uint64_t apply(std::uint64_t* pointer, std::uint64_t b, std::uint64_t) {
        return compare_loop(pointer, [b](std::uint64_t old) {
            return std::bit_cast<std::uint64_t>(std::bit_cast<double>(old) + std::bit_cast<double>(b));
        });
    }
};
std::uint16_t add_half(std::uint16_t a, std::uint16_t b) {
    return to_half(double{to_float(Half{a})} + double{to_float(Half{b})}).bits;
}
std::uint16_t add_brain(std::uint16_t a, std::uint16_t b) {
    return to_brain(double{to_float(Brain{a})} + double{to_float(Brain{b})}).bits;
}
template <std::uint16_t (*Add)(std::uint16_t, std::uint16_t)>
struct NarrowAdd {
    static std::uint16_t apply(std::uint16_t* pointer, std::uint16_t b, std::uint16_t) {
        return compare_loop(pointer, [b](std::uint16_t old) { return Add(old, b); });
    }
};
template <std::uint16_t (*Add)(std::uint16_t, std::uint16_t)>
struct NarrowPairAdd {
    static std::uint32_t apply(std::uint32_t* pointer, std::uint32_t b, std::uint32_t) {
        return compare_loop(pointer, [b](std::uint32_t old) {
            const std::uint32_t low = Add(static_cast<std::uint16_t>(old), static_cast<std::uint16_t>(b));
            const std::uint32_t high = Add(static_cast<std::uint16_t>(old >> 16), static_cast<std::uint16_t>(b >> 16));
            return high << 16 | low;
        });
    }
};

/// min and max of f16 and bf16: a NaN gives way to a number.
template <typename Narrow, bool Greater>
struct NarrowSelect {
    static std::uint16_t apply(std::uint16_t* pointer, std::uint16_t b, std::uint16_t) {
        return compare_loop(pointer, [b](std::uint16_t old) {
            const float x = to_float(Narrow{old}), y = to_float(Narrow{b});
            if (x != x || y != y) {
                return x == x ? old : y == y ? b : std::uint16_t{0x7fff};
            }
            // Of two zeros the negative one is the lesser.
            const bool old_less = x < y || (x == y && (old & 0x8000) != 0);
            return old_less == Greater ? b : old;
        });
    }
};

/// sources: 0 address, 1 b, 2 c (cas).
template <typename F, typename T>
bool atomic(Context& context, const Instruction& instruction, Mask mask) {
    std::byte* pointers[kLanes];
    if (!instruction.resolve(context, instruction, mask, pointers)) {
        return false;
    }
    context.looked = true;
    auto* const destination = row_at<Stored<T>>(context, instruction.destination);
    const auto* const b = row_at<const Stored<T>>(context, instruction.sources[1]);
    const auto* const c = row_at<const Stored<T>>(context, instruction.sources[2]);
    for (; mask != 0; mask &= mask - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(mask));
        destination[lane] = put<T>(F::apply(reinterpret_cast<T*>(pointers[lane]), get<T>(b[lane]), get<T>(c[lane])));
    }
    return true;
}

template <typename F>
Handler by_width(Type type) {
    return bits_of(type) == 32 ? atomic<F, std::uint32_t> : bits_of(type) == 64 ? atomic<F, std::uint64_t> : nullptr;
}
template <typename F>
Handler by_sign(Type type) {
    switch (type) {
        case Type::u32:
            return atomic<F, std::uint32_t>;
        case Type::s32:
            return atomic<F, std::int32_t>;
        case Type::u64:
            return atomic<F, std::uint64_t>;
        case Type::s64:
            return atomic<F, std::int64_t>;
        default:
            return nullptr;
    }
}

Handler add_handler(Type type) {
    switch (type) {
        case Type::f32:
            return atomic<FloatAdd32, std::uint32_t>;
        case Type::f64:
            return atomic<FloatAdd64, std::uint64_t>;
        case Type::f16:
            return atomic<NarrowAdd<add_half>, std::uint16_t>;
        case Type::bf16:
            return atomic<NarrowAdd<add_brain>, std::uint16_t>;
        case Type::f16x2:
            return atomic<NarrowPairAdd<add_half>, std::uint32_t>;
        case Type::bf16x2:
            return atomic<NarrowPairAdd<add_brain>, std::uint32_t>;
        default:
            return is_integer(type) ? by_width<AtomicAdd>(type) : nullptr;
    }
}

}  // namespace

Handler atomic_handler(std::string_view operation, Type type) {
    const bool bits = is_bits(type);
    if (operation == "add") {
        return add_handler(type);
    }
    if (operation == "min") {
        return by_sign<AtomicMin>(type);
    }
    if (operation == "max") {
        return by_sign<AtomicMax>(type);
    }
    if (operation == "inc") {
        return type == Type::u32 ? atomic<AtomicIncrement, std::uint32_t> : nullptr;
    }
    if (operation == "dec") {
        return type == Type::u32 ? atomic<AtomicDecrement, std::uint32_t> : nullptr;
    }
    if (!bits && !is_integer(type)) {
        return nullptr;
    }
    if (operation == "cas") {
        return type == Type::b16 ? atomic<AtomicCompareAndSwap, std::uint16_t> : by_width<AtomicCompareAndSwap>(type);
    }
    if (operation == "and") {
        return by_width<AtomicAnd>(type);
    }
    if (operation == "or") {
        return by_width<AtomicOr>(type);
    }
    if (operation == "xor") {
        return by_width<AtomicXor>(type);
    }
    return operation == "exch" ? by_width<AtomicExchange>(type) : nullptr;
}

namespace {

template <typename F, typename T>
void element(std::byte* destination, const std::byte* value) {
    T operand;
    std::memcpy(&operand, value, sizeof operand);
    F::apply(reinterpret_cast<T*>(destination), operand, operand);
}

template <typename F>
Element element_by_type(Type type) {
    switch (type) {
        case Type::s32:
            return element<F, std::int32_t>;
        case Type::s64:
            return element<F, std::int64_t>;
        default:
            return bits_of(type) == 64 ? element<F, std::uint64_t> : element<F, std::uint32_t>;
    }
}

template <bool Greater>
Element element_select(Type type) {
    switch (type) {
        case Type::f16:
            return element<NarrowSelect<Half, Greater>, std::uint16_t>;
        case Type::bf16:
            return element<NarrowSelect<Brain, Greater>, std::uint16_t>;
        default:
            break;
    }
    if (!is_integer(type) || bits_of(type) < 32) {
        return nullptr;
    }
    if constexpr (Greater) {
        return element_by_type<AtomicMax>(type);
    } else {
        return element_by_type<AtomicMin>(type);
    }
}

Element element_add(Type type) {
    switch (type) {
        case Type::f32:
            return element<FloatAdd32, std::uint32_t>;
        case Type::f64:
            return element<FloatAdd64, std::uint64_t>;
        case Type::f16:
            return element<NarrowAdd<add_half>, std::uint16_t>;
        case Type::bf16:
            return element<NarrowAdd<add_brain>, std::uint16_t>;
        default:
            return is_integer(type) && bits_of(type) >= 32 ? element_by_type<AtomicAdd>(type) : nullptr;
    }
}

}  // namespace

Element element_reduction(std::string_view operation, Type type) {
    if (operation == "add") {
        return element_add(type);
    }
    if (operation == "min" || operation == "max") {
        return operation == "max" ? element_select<true>(type) : element_select<false>(type);
    }
    if (operation == "inc" || operation == "dec") {
        return type != Type::u32    ? nullptr
               : operation == "inc" ? element<AtomicIncrement, std::uint32_t>
                                    : element<AtomicDecrement, std::uint32_t>;
    }
    if (!is_bits(type) || bits_of(type) < 32) {
        return nullptr;
    }
    return operation == "and"   ? element_by_type<AtomicAnd>(type)
           : operation == "or"  ? element_by_type<AtomicOr>(type)
           : operation == "xor" ? element_by_type<AtomicXor>(type)
                                : nullptr;
}

}  // namespace egpu::simulated
