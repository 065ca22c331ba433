// SPDX-License-Identifier: Apache-2.0
#include "ebpf/verifier/domain/scalar.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace egpu::ebpf {
namespace {

/// What the bits say of the bounds, and what the unsigned and the signed bounds say of one another.
template <typename Unsigned>
void tighten_range(Range<Unsigned>& range, Unsigned least, Unsigned greatest) {
    using Signed = typename Range<Unsigned>::Signed;
    range.low = std::max(range.low, least);
    range.high = std::min(range.high, greatest);
    // One sign only: order as unsigned and as signed is the same.
    if (range.signed_low >= 0 || range.signed_high < 0) {
        range.low = std::max(range.low, static_cast<Unsigned>(range.signed_low));
        range.high = std::min(range.high, static_cast<Unsigned>(range.signed_high));
    }
    if (static_cast<Signed>(range.low) <= static_cast<Signed>(range.high)) {
        range.signed_low = std::max(range.signed_low, static_cast<Signed>(range.low));
        range.signed_high = std::min(range.signed_high, static_cast<Signed>(range.high));
    }
}

constexpr std::uint64_t kUpper = ~std::uint64_t{0xffffffffu};

/// Bounds of the whole word and of its low half, where the upper half is one known number.
void tighten_across(Range<std::uint64_t>& wide, Range<std::uint32_t>& narrow) {
    if ((wide.low & kUpper) != (wide.high & kUpper))
        return;
    const std::uint64_t upper = wide.low & kUpper;
    narrow.low = std::max(narrow.low, static_cast<std::uint32_t>(wide.low));
    narrow.high = std::min(narrow.high, static_cast<std::uint32_t>(wide.high));
    wide.low = std::max(wide.low, upper | narrow.low);
    wide.high = std::min(wide.high, upper | narrow.high);
}

}  // namespace

Scalar Scalar::constant(std::uint64_t number) {
    Scalar scalar;
    scalar.bits = Tristate::constant(number);
    scalar.expression = combine(0, number, 0);
    scalar.wide = Range<std::uint64_t>::constant(number);
    scalar.narrow = Range<std::uint32_t>::constant(static_cast<std::uint32_t>(number));
    return scalar;
}

Scalar Scalar::between(std::uint64_t low, std::uint64_t high) {
    Scalar scalar;
    scalar.bits = Tristate::of_range(low, high);
    scalar.wide = Range<std::uint64_t>::between(low, high);
    if (!scalar.tighten())
        return {};
    return scalar;
}

Scalar Scalar::of_bytes(std::uint32_t bytes) {
    if (bytes >= 8)
        return {};
    return between(0, (std::uint64_t{1} << (8 * bytes)) - 1);
}

bool Scalar::tighten() {
    // Two rounds carry a bound from any of the five views to any other that matters; more would be sound and idle.
    for (int round = 0; round < 2; ++round) {
        const Tristate low_bits = bits.low_half();
        tighten_range(wide, bits.least(), bits.greatest());
        tighten_range(narrow, static_cast<std::uint32_t>(low_bits.least()),
                      static_cast<std::uint32_t>(low_bits.greatest()));
        tighten_across(wide, narrow);
        if (wide.empty() || narrow.empty())
            return false;
        auto known = intersect(bits, Tristate::of_range(wide.low, wide.high));
        if (!known)
            return false;
        const auto low = intersect(known->low_half(), Tristate::of_range(narrow.low, narrow.high));
        if (!low)
            return false;
        const Tristate high = known->high_half();
        bits = {high.value | low->value, high.mask | low->mask};
    }
    if (bits.is_constant()) {
        if (!wide.contains(bits.value) || !narrow.contains(static_cast<std::uint32_t>(bits.value)))
            return false;
        wide = Range<std::uint64_t>::constant(bits.value);
        narrow = Range<std::uint32_t>::constant(static_cast<std::uint32_t>(bits.value));
        expression = combine(0, bits.value, 0);
    }
    return true;
}

void Scalar::derive_from(const Scalar& operand) {
    variability = most_varying(variability, operand.variability);
    application_address = application_address || operand.application_address;
    loaded_from |= operand.loaded_from;
    plainly_loaded_from |= operand.plainly_loaded_from;
}

std::uint64_t combine(std::uint64_t operation, std::uint64_t a, std::uint64_t b) {
    // The finaliser of splitmix64, over each part in turn.
    std::uint64_t hash = 0;
    for (const std::uint64_t part : {operation, a, b}) {
        hash = (hash ^ part) + 0x9e3779b97f4a7c15u;
        hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9u;
        hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebu;
        hash ^= hash >> 31;
    }
    return hash;
}

std::string to_text(const Scalar& scalar) {
    if (scalar.is_constant()) {
        const auto number = static_cast<std::int64_t>(scalar.value());
        if (number >= -0x10000 && number <= 0x10000)
            return fmt::format("{}", number);
        return fmt::format("{:#x}", scalar.value());
    }
    const auto& wide = scalar.wide;
    if (wide.low == 0 && wide.high == std::numeric_limits<std::uint64_t>::max())
        return wide.signed_low == std::numeric_limits<std::int64_t>::min()
                   ? "u64"
                   : fmt::format("[{}, {}]", wide.signed_low, wide.signed_high);
    if (wide.low == 0 && wide.high == std::numeric_limits<std::uint32_t>::max())
        return "u32";
    if (wide.high <= std::numeric_limits<std::uint32_t>::max())
        return fmt::format("u32 [{}, {}]", wide.low, wide.high);
    return fmt::format("u64 [{}, {}]", wide.low, wide.high);
}

}  // namespace egpu::ebpf
