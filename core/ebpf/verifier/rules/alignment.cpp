// SPDX-License-Identifier: Apache-2.0
// Rule 4: every access is naturally aligned. A misaligned one is a trap on a GPU, and ends the application's context
// (PTX ISA, "Addresses as Operands").
#include <fmt/format.h>

#include "ebpf/verifier/rules/rule.hpp"

namespace egpu::ebpf {

Span span_of(const MemoryAccess& access) {
    constexpr std::int64_t kFar = std::int64_t{1} << 48;
    const auto clamp = [](std::int64_t offset) { return offset < -kFar ? -kFar : offset > kFar ? kFar : offset; };
    const Scalar& offset = access.pointer.scalar;
    return {clamp(offset.wide.signed_low) + access.offset,
            clamp(offset.wide.signed_high) + access.offset + static_cast<std::int64_t>(access.bytes),
            offset.is_constant()};
}

std::string span_text(const Span& span) {
    constexpr std::int64_t kFar = std::int64_t{1} << 32;  // beyond this a number only says that there is no bound
    const bool below = span.first<-kFar, above = span.end> kFar;
    if (below || above)
        return below && above ? "nothing bounds its index"
               : below        ? "nothing bounds its index from below"
                              : "nothing bounds its index from above";
    return fmt::format("it {} bytes {} to {}", span.exact ? "covers" : "can cover", span.first, span.end - 1);
}

std::string bound_advice(const Span& span) {
    if (span.first < 0)
        return "make the index unsigned, and bound it: if (i < N) ..., or mask it: i & (N - 1)";
    return "bound the index first: if (i < N) ..., or mask it: i & (N - 1)";
}

std::uint64_t address_expression(const MemoryAccess& access) {
    const Scalar& offset = access.pointer.scalar;
    if (offset.is_constant())
        return combine(0, offset.value() + static_cast<std::uint64_t>(std::int64_t{access.offset}), 0);
    return combine(0xa03, offset.expression, static_cast<std::uint64_t>(std::int64_t{access.offset}));
}

Verdict check_alignment(const Scene& scene, const MemoryAccess& access) {
    if (access.bytes < 2)
        return std::nullopt;
    const Tristate address =
        add(access.pointer.scalar.bits, Tristate::constant(static_cast<std::uint64_t>(std::int64_t{access.offset})));
    if ((address.greatest() & (access.bytes - 1)) == 0)
        return std::nullopt;
    Refusal refusal;
    refusal.code = "EGPU-V008";
    refusal.message = fmt::format("this access of {} bytes is not aligned to {}", access.bytes, access.bytes);
    if (access.pointer.is_map_pointer())
        name_of(scene, access.pointer, &refusal.subject);
    refusal.why =
        address.is_constant()
            ? fmt::format("it lies at byte {}; a misaligned access ends the application on a GPU",
                          static_cast<std::int64_t>(address.value))
            : fmt::format("its offset need not be a multiple of {}; a misaligned access ends the application on a GPU",
                          access.bytes);
    refusal.fix = "use members in their natural places (no packed struct, no cast of a char pointer)";
    if (access.kind != AccessKind::atomic)
        refusal.fix += ", or copy byte by byte";
    return refusal;
}

}  // namespace egpu::ebpf
