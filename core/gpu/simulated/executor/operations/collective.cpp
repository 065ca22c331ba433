// SPDX-License-Identifier: Apache-2.0
// shfl, vote, match, redux, elect, activemask (PTX ISA 9.0, sections 9.7.9.6 and 9.7.13).
#include "gpu/simulated/executor/operations/collective.hpp"

#include <bit>

#include "gpu/simulated/executor/operations/lane.hpp"

namespace egpu::simulated {
namespace {

template <typename T>
void gather_values(Context& context, const Instruction& instruction, Mask mask, Exchange& exchange) {
    const T* const values = row_at<const T>(context, instruction.sources[0]);
    for_lanes(mask, [&](unsigned lane) { exchange.values[lane] = values[lane]; });
}

void gather_shuffle(Context& context, const Instruction& instruction, Mask mask, Exchange& exchange) {
    gather_values<std::uint32_t>(context, instruction, mask, exchange);
    const auto* const b = row_at<const std::uint32_t>(context, instruction.sources[1]);
    const auto* const c = row_at<const std::uint32_t>(context, instruction.sources[2]);
    for_lanes(mask, [&](unsigned lane) {
        exchange.lanes[lane] = b[lane];
        exchange.clamps[lane] = c[lane];
    });
}

void set_mask(Context& context, Place place, Mask mask, Mask value) {
    Mask& destination = mask_at(context, place);
    destination = (destination & ~mask) | (value & mask);
}

enum class Mode { up, down, butterfly, index };

/// The pseudo-code of shfl: bval = b[4:0], cval = c[4:0], segment mask = c[12:8]. A source lane out of range, or one
/// that takes no part, gives the lane its own value; the predicate says which.
template <Mode M>
void scatter_shuffle(Context& context, const Instruction& instruction, Mask mask, const Exchange& exchange) {
    auto* const destination = row_at<std::uint32_t>(context, instruction.destination);
    Mask valid = 0;
    for (Mask rest = mask; rest != 0; rest &= rest - 1) {
        const int lane = std::countr_zero(rest);
        const auto at = static_cast<std::size_t>(lane);
        const int b = static_cast<int>(exchange.lanes[at] & 31);
        const int clamp = static_cast<int>(exchange.clamps[at] & 31);
        const int segment = static_cast<int>(exchange.clamps[at] >> 8 & 31);
        const int highest = (lane & segment) | (clamp & ~segment);
        const int lowest = lane & segment;
        int from = lane;
        bool in_range = false;
        if constexpr (M == Mode::up) {
            from = lane - b;
            in_range = from >= highest;
        } else if constexpr (M == Mode::down) {
            from = lane + b;
            in_range = from <= highest;
        } else if constexpr (M == Mode::butterfly) {
            from = lane ^ b;
            in_range = from <= highest;
        } else {
            from = lowest | (b & ~segment);
            in_range = from <= highest;
        }
        if (!in_range) {
            from = lane;
        }
        const bool takes_part = (exchange.arrived >> from & 1) != 0;
        destination[at] = static_cast<std::uint32_t>(exchange.values[takes_part ? static_cast<std::size_t>(from) : at]);
        valid |= static_cast<Mask>(in_range ? 1 : 0) << lane;
    }
    if (instruction.has_second) {
        set_mask(context, instruction.second_destination, mask, valid);
    }
}

void gather_predicate(Context& context, const Instruction& instruction, Mask mask, Exchange& exchange) {
    const Mask value = mask_at(context, instruction.sources[0]) ^ (instruction.source_negated ? kAllLanes : 0);
    exchange.predicates = (exchange.predicates & ~mask) | (value & mask);
}

enum class Vote { all, any, uniform };
template <Vote V>
void scatter_vote(Context& context, const Instruction& instruction, Mask mask, const Exchange& exchange) {
    const Mask voters = exchange.arrived;
    const Mask yes = exchange.predicates & voters;
    const bool result = V == Vote::all ? yes == voters : V == Vote::any ? yes != 0 : yes == voters || yes == 0;
    set_mask(context, instruction.destination, mask, result ? kAllLanes : 0);
}
void scatter_ballot(Context& context, const Instruction& instruction, Mask mask, const Exchange& exchange) {
    auto* const destination = row_at<std::uint32_t>(context, instruction.destination);
    const Mask yes = exchange.predicates & exchange.arrived;
    for_lanes(mask, [&](unsigned lane) { destination[lane] = yes; });
}

Mask lanes_with_value(const Exchange& exchange, std::uint64_t value) {
    Mask same = 0;
    for (Mask rest = exchange.arrived; rest != 0; rest &= rest - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(rest));
        same |= static_cast<Mask>(exchange.values[lane] == value ? 1 : 0) << lane;
    }
    return same;
}
void scatter_match_any(Context& context, const Instruction& instruction, Mask mask, const Exchange& exchange) {
    auto* const destination = row_at<std::uint32_t>(context, instruction.destination);
    for_lanes(mask, [&](unsigned lane) { destination[lane] = lanes_with_value(exchange, exchange.values[lane]); });
}
void scatter_match_all(Context& context, const Instruction& instruction, Mask mask, const Exchange& exchange) {
    auto* const destination = row_at<std::uint32_t>(context, instruction.destination);
    const auto first = static_cast<unsigned>(std::countr_zero(exchange.arrived));
    const bool all = lanes_with_value(exchange, exchange.values[first]) == exchange.arrived;
    for_lanes(mask, [&](unsigned lane) { destination[lane] = all ? exchange.arrived : 0; });
    if (instruction.has_second) {
        set_mask(context, instruction.second_destination, mask, all ? kAllLanes : 0);
    }
}

template <typename T, typename F>
void scatter_reduction(Context& context, const Instruction& instruction, Mask mask, const Exchange& exchange) {
    Mask rest = exchange.arrived;
    T result = static_cast<T>(exchange.values[static_cast<unsigned>(std::countr_zero(rest))]);
    for (rest &= rest - 1; rest != 0; rest &= rest - 1) {
        result = F::apply(result, static_cast<T>(exchange.values[static_cast<unsigned>(std::countr_zero(rest))]));
    }
    auto* const destination = row_at<std::uint32_t>(context, instruction.destination);
    for_lanes(mask, [&](unsigned lane) { destination[lane] = static_cast<std::uint32_t>(result); });
}
struct Add {
    static std::uint32_t apply(std::uint32_t a, std::uint32_t b) { return a + b; }
};
struct And {
    static std::uint32_t apply(std::uint32_t a, std::uint32_t b) { return a & b; }
};
struct Or {
    static std::uint32_t apply(std::uint32_t a, std::uint32_t b) { return a | b; }
};
struct Xor {
    static std::uint32_t apply(std::uint32_t a, std::uint32_t b) { return a ^ b; }
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

/// min and max of f32 (PTX ISA 9.0, section 9.7.13.14): NaN wins with .NaN, else gives way; +0 is greater than -0.
template <bool Greater, bool Absolute, bool KeepsNan>
void scatter_float_reduction(Context& context, const Instruction& instruction, Mask mask, const Exchange& exchange) {
    constexpr std::uint32_t kNan = 0x7fffffff;
    bool any = false, any_nan = false;
    std::uint32_t best = kNan;
    for (Mask rest = exchange.arrived; rest != 0; rest &= rest - 1) {
        auto bits = static_cast<std::uint32_t>(exchange.values[static_cast<unsigned>(std::countr_zero(rest))]);
        bits &= Absolute ? 0x7fffffffU : ~0U;
        if ((bits & 0x7fffffffU) > 0x7f800000U) {
            any_nan = true;
            continue;
        }
        // Bits of floats, mapped to integers of the same order.
        const auto key = [](std::uint32_t value) { return (value & 0x80000000U) != 0 ? ~value : value | 0x80000000U; };
        if (!any || (key(bits) > key(best)) == Greater) {
            best = bits;
        }
        any = true;
    }
    const std::uint32_t result = KeepsNan && any_nan ? kNan : best;
    auto* const destination = row_at<std::uint32_t>(context, instruction.destination);
    for_lanes(mask, [&](unsigned lane) { destination[lane] = result; });
}

template <bool Greater>
Scatter float_scatter(bool absolute, bool keeps_nan) {
    return absolute ? (keeps_nan ? scatter_float_reduction<Greater, true, true>
                                 : scatter_float_reduction<Greater, true, false>)
                    : (keeps_nan ? scatter_float_reduction<Greater, false, true>
                                 : scatter_float_reduction<Greater, false, false>);
}

void gather_nothing(Context&, const Instruction&, Mask, Exchange&) {}
/// The leader is the lowest lane; all learn its number, it alone gets the predicate.
void scatter_election(Context& context, const Instruction& instruction, Mask mask, const Exchange& exchange) {
    const auto leader = static_cast<unsigned>(std::countr_zero(exchange.arrived));
    auto* const destination = row_at<std::uint32_t>(context, instruction.destination);
    for_lanes(mask, [&](unsigned lane) { destination[lane] = leader; });
    if (instruction.has_second) {
        set_mask(context, instruction.second_destination, mask, Mask{1} << leader);
    }
}

bool activemask(Context& context, const Instruction& instruction, Mask mask) {
    auto* const destination = row_at<std::uint32_t>(context, instruction.destination);
    for_lanes(mask, [&](unsigned lane) { destination[lane] = mask; });
    return true;
}

}  // namespace

Collective shuffle(std::string_view mode) {
    if (mode == "up") {
        return {gather_shuffle, scatter_shuffle<Mode::up>};
    }
    if (mode == "down") {
        return {gather_shuffle, scatter_shuffle<Mode::down>};
    }
    if (mode == "bfly") {
        return {gather_shuffle, scatter_shuffle<Mode::butterfly>};
    }
    return mode == "idx" ? Collective{gather_shuffle, scatter_shuffle<Mode::index>} : Collective{};
}

Collective vote(std::string_view mode) {
    if (mode == "all") {
        return {gather_predicate, scatter_vote<Vote::all>};
    }
    if (mode == "any") {
        return {gather_predicate, scatter_vote<Vote::any>};
    }
    if (mode == "uni") {
        return {gather_predicate, scatter_vote<Vote::uniform>};
    }
    return mode == "ballot" ? Collective{gather_predicate, scatter_ballot} : Collective{};
}

Collective match(bool all, Type type) {
    const Gather gather = type == Type::b64   ? gather_values<std::uint64_t>
                          : type == Type::b32 ? gather_values<std::uint32_t>
                                              : nullptr;
    return gather == nullptr ? Collective{} : Collective{gather, all ? scatter_match_all : scatter_match_any};
}

Collective reduction(std::string_view operation, Type type) {
    const Gather gather = gather_values<std::uint32_t>;
    using Unsigned = std::uint32_t;
    using Signed = std::int32_t;
    if (type == Type::b32) {
        if (operation == "and") {
            return {gather, scatter_reduction<Unsigned, And>};
        }
        if (operation == "or") {
            return {gather, scatter_reduction<Unsigned, Or>};
        }
        return operation == "xor" ? Collective{gather, scatter_reduction<Unsigned, Xor>} : Collective{};
    }
    if (type != Type::u32 && type != Type::s32) {
        return {};
    }
    if (operation == "add") {
        return {gather, scatter_reduction<Unsigned, Add>};
    }
    if (operation == "min") {
        return {gather, type == Type::s32 ? scatter_reduction<Signed, Min> : scatter_reduction<Unsigned, Min>};
    }
    if (operation == "max") {
        return {gather, type == Type::s32 ? scatter_reduction<Signed, Max> : scatter_reduction<Unsigned, Max>};
    }
    return {};
}

Collective float_reduction(std::string_view operation, bool absolute, bool keeps_nan) {
    const Gather gather = gather_values<std::uint32_t>;
    if (operation == "min") {
        return {gather, float_scatter<false>(absolute, keeps_nan)};
    }
    return operation == "max" ? Collective{gather, float_scatter<true>(absolute, keeps_nan)} : Collective{};
}

Collective election() {
    return {gather_nothing, scatter_election};
}

Handler activemask_handler() {
    return activemask;
}

}  // namespace egpu::simulated
