// SPDX-License-Identifier: Apache-2.0
#include "ebpf/verifier/domain/tristate.hpp"

#include <bit>

namespace egpu::ebpf {

Tristate Tristate::of_range(std::uint64_t low, std::uint64_t high) {
    const std::uint64_t differing = low ^ high;
    if (differing == 0)
        return constant(low);
    const auto width = static_cast<unsigned>(std::bit_width(differing));
    const std::uint64_t mask = width == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
    return {low & ~mask, mask};
}

Tristate add(Tristate a, Tristate b) {
    // A result bit is unknown where an operand's is, or where the carry into it differs between the smallest and
    // the largest sum.
    const std::uint64_t least = a.value + b.value;
    const std::uint64_t greatest = a.greatest() + b.greatest();
    const std::uint64_t mask = (least ^ greatest) | a.mask | b.mask;
    return {least & ~mask, mask};
}

Tristate subtract(Tristate a, Tristate b) {
    const std::uint64_t greatest = a.greatest() - b.value;
    const std::uint64_t least = a.value - b.greatest();
    const std::uint64_t mask = (greatest ^ least) | a.mask | b.mask;
    return {(a.value - b.value) & ~mask, mask};
}

Tristate multiply(Tristate a, Tristate b) {
    // Long multiplication: a bit of `a` that may be set adds a shifted `b` that may be there.
    Tristate sum = Tristate::constant(0);
    for (unsigned bit = 0; bit < 64; ++bit) {
        const std::uint64_t one = std::uint64_t{1} << bit;
        if (a.value & one)
            sum = add(sum, shift_left(b, bit));
        else if (a.mask & one)
            sum = add(sum, {0, b.greatest() << bit});
    }
    return sum;
}

Tristate bit_and(Tristate a, Tristate b) {
    const std::uint64_t ones = a.value & b.value;
    const std::uint64_t maybe = a.greatest() & b.greatest();
    return {ones, maybe & ~ones};
}

Tristate bit_or(Tristate a, Tristate b) {
    const std::uint64_t ones = a.value | b.value;
    return {ones, (a.mask | b.mask) & ~ones};
}

Tristate bit_xor(Tristate a, Tristate b) {
    const std::uint64_t mask = a.mask | b.mask;
    return {(a.value ^ b.value) & ~mask, mask};
}

Tristate shift_left(Tristate a, unsigned amount) {
    return {a.value << amount, a.mask << amount};
}
Tristate shift_right(Tristate a, unsigned amount) {
    return {a.value >> amount, a.mask >> amount};
}

Tristate shift_right_signed(Tristate a, unsigned amount, unsigned width) {
    if (width == 32) {
        // Both words are shifted as signed ones, so that an unknown sign makes unknown copies of it.
        const auto shift = [amount](std::uint64_t word) {
            return static_cast<std::uint64_t>(
                static_cast<std::uint32_t>(static_cast<std::int32_t>(static_cast<std::uint32_t>(word)) >> amount));
        };
        return {shift(a.value), shift(a.mask)};
    }
    const auto shift = [amount](std::uint64_t word) {
        return static_cast<std::uint64_t>(static_cast<std::int64_t>(word) >> amount);
    };
    return {shift(a.value), shift(a.mask)};
}

std::optional<Tristate> intersect(Tristate a, Tristate b) {
    if ((a.value ^ b.value) & ~a.mask & ~b.mask)
        return std::nullopt;
    const std::uint64_t mask = a.mask & b.mask;
    return Tristate{(a.value | b.value) & ~mask, mask};
}

}  // namespace egpu::ebpf
