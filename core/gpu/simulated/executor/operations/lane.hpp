// SPDX-License-Identifier: Apache-2.0
// The loop over lanes that every element-wise handler is made of.
//
//   add.u32 %r3, %r1, %r2;   ->   each<Add, uint32_t, uint32_t, uint32_t>: row(r3)[lane] = row(r1)[lane] +
//   row(r2)[lane]
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "gpu/simulated/executor/machine/context.hpp"

// Before a loop over lanes: no lane reads what another one writes, so that it may be vectorised. Clang warns where a
// loop with such a mark is not vectorised in the end, which is no fault: it gets none.
#ifdef __clang__
#define EGPU_LANES_ARE_INDEPENDENT
#else
#define EGPU_LANES_ARE_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace egpu::simulated {

/// 16-bit floats are carried as their bits.
struct Half {
    std::uint16_t bits;
};
struct Brain {
    std::uint16_t bits;
};

template <std::size_t Size>
using UnsignedOf = std::conditional_t<
    Size == 8, std::uint64_t,
    std::conditional_t<Size == 4, std::uint32_t, std::conditional_t<Size == 2, std::uint16_t, std::uint8_t>>>;

/// What a row is made of.
template <typename T>
using Stored = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

template <typename T>
inline T get(Stored<T> bits) {
    return std::bit_cast<T>(static_cast<UnsignedOf<sizeof(T)>>(bits));
}

/// Narrow signed values are kept sign-extended to 32 bits, as cvt and ld want them in a wider register.
template <typename T>
inline Stored<T> put(T value) {
    if constexpr (std::is_integral_v<T> && std::is_signed_v<T> && sizeof(T) < 4) {
        return static_cast<std::uint32_t>(static_cast<std::int32_t>(value));
    } else {
        return static_cast<Stored<T>>(std::bit_cast<UnsignedOf<sizeof(T)>>(value));
    }
}

/// Calls `body(lane)` for each active lane.
template <typename Body>
inline void for_lanes(Mask mask, Body body) {
    if (mask == kAllLanes) {
        EGPU_LANES_ARE_INDEPENDENT
        for (unsigned lane = 0; lane < kLanes; ++lane) {
            body(lane);
        }
    } else {
        for (; mask != 0; mask &= mask - 1) {
            body(static_cast<unsigned>(std::countr_zero(mask)));
        }
    }
}

namespace detail {
template <typename F, typename D, typename... S, std::size_t... Index>
inline void each_lane(Context& context, const Instruction& instruction, Mask mask, std::index_sequence<Index...>) {
    auto* const destination = row_at<Stored<D>>(context, instruction.destination);
    const auto sources = std::make_tuple(row_at<const Stored<S>>(context, instruction.sources[Index])...);
    for_lanes(mask,
              [&](unsigned lane) { destination[lane] = put<D>(F::apply(get<S>(std::get<Index>(sources)[lane])...)); });
}
}  // namespace detail

/// destination = F::apply(sources...) in each active lane.
template <typename F, typename D, typename... S>
bool each(Context& context, const Instruction& instruction, Mask mask) {
    detail::each_lane<F, D, S...>(context, instruction, mask, std::index_sequence_for<S...>{});
    return true;
}

/// The same where F needs what the instruction carries (its variant).
template <typename F, typename D, typename... S>
bool each_with(Context& context, const Instruction& instruction, Mask mask) {
    auto* const destination = row_at<Stored<D>>(context, instruction.destination);
    [&]<std::size_t... Index>(std::index_sequence<Index...>) {
        const auto sources = std::make_tuple(row_at<const Stored<S>>(context, instruction.sources[Index])...);
        for_lanes(mask, [&](unsigned lane) {
            destination[lane] = put<D>(F::apply(instruction, get<S>(std::get<Index>(sources)[lane])...));
        });
    }
    (std::index_sequence_for<S...>{});
    return true;
}

/// The mask whose bit l is flags[l] != 0; flags are 0 or 1. Eight flags at a time are gathered by one multiplication.
inline Mask gather_flags(const std::uint8_t (&flags)[kLanes]) {
    Mask result = 0;
    for (unsigned group = 0; group < 4; ++group) {
        std::uint64_t eight;
        std::memcpy(&eight, flags + group * 8, 8);
        result |= static_cast<Mask>((eight * 0x0102040810204080U) >> 56) << (group * 8);
    }
    return result;
}

/// The mask of active lanes where test(lane) holds.
template <typename Test>
inline Mask mask_where(Mask mask, Test test) {
    if (mask == kAllLanes) {
        std::uint8_t flags[kLanes];
        EGPU_LANES_ARE_INDEPENDENT
        for (unsigned lane = 0; lane < kLanes; ++lane) {
            flags[lane] = test(lane) ? 1 : 0;
        }
        return gather_flags(flags);
    }
    Mask result = 0;
    for (; mask != 0; mask &= mask - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(mask));
        result |= static_cast<Mask>(test(lane) ? 1 : 0) << lane;
    }
    return result;
}

}  // namespace egpu::simulated
