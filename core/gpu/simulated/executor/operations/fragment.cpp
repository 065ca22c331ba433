// SPDX-License-Identifier: Apache-2.0
// The layouts of fragments (PTX ISA 9.0, section 9.7.14.5: figures and formulas of each shape, which are one formula).
#include "gpu/simulated/executor/operations/fragment.hpp"

namespace egpu::simulated {
namespace {

/// Lane 4 g + t holds, of a: rows g (and g + 8 where there are 16), of b: column g, of c: row g (and g + 8). A 32-bit
/// register holds neighbours along k; four lanes side by side; further registers of the same row behind those.
Position in_groups(const Fragment& fragment, unsigned lane, unsigned reg, unsigned index) {
    const unsigned group = lane / 4, thread = lane % 4, width = fragment.in_register();
    switch (fragment.part) {
        case Part::a: {
            const bool tall = fragment.rows == 16;
            const unsigned row = group + (tall && reg % 2 != 0 ? 8 : 0);
            return {row, (tall ? reg / 2 : reg) * 4 * width + thread * width + index};
        }
        case Part::b:
            return {reg * 4 * width + thread * width + index, group};
        default: {
            const unsigned number = reg * width + index;
            return {group + number / 2 * 8, thread * 2 + number % 2};
        }
    }
}

/// Lanes 4 q to 4 q + 3 and those 16 above work on product q.
Position in_quads(const Fragment& fragment, unsigned lane, unsigned reg, unsigned index) {
    const unsigned number = reg * fragment.in_register() + index, thread = lane % 4, upper = lane < 16 ? 0 : 4;
    switch (fragment.part) {
        case Part::a:
            return fragment.by_columns ? Position{number + upper, thread} : Position{thread + upper, number};
        case Part::b:
            return fragment.by_columns ? Position{number, thread + upper} : Position{thread, number + upper};
        default:
            if (bits_of(fragment.element) == 16) {
                return {thread + upper, number};
            }
            return {(lane & 1) + (number & 2) + upper, (number & 4) + (lane & 2) + (number & 1)};
    }
}

}  // namespace

Position Fragment::at(unsigned lane, unsigned reg, unsigned index) const {
    switch (kind) {
        case FragmentKind::groups:
            return in_groups(*this, lane, reg, index);
        case FragmentKind::quads:
            return in_quads(*this, lane, reg, index);
        case FragmentKind::linear:
            break;
    }
    const unsigned linear = ((lane * registers + reg) * in_register() + index) % (rows * columns);
    return {linear / columns, linear % columns};
}

Fragment fragment_of(const MatrixForm& form, Part part, const Place* places) {
    const unsigned d = form.d_registers, a = form.a_registers, b = form.b_registers;
    switch (part) {
        case Part::a:
            return {form.kind, part, form.a, form.m, form.k, a, form.a_by_columns, places + d};
        case Part::b:
            return {form.kind, part, form.b, form.k, form.n, b, form.b_by_columns, places + d + a};
        case Part::c:
            return {form.kind, part, form.c, form.m, form.n, form.c_registers, false, places + d + a + b};
        default:
            return {form.kind, part, form.d, form.m, form.n, d, false, places};
    }
}

std::uint64_t read_element(const Context& context, const Fragment& fragment, unsigned lane, unsigned reg,
                           unsigned index) {
    const unsigned bits = bits_of(fragment.element);
    if (bits == 64) {
        return row_at<const std::uint64_t>(context, fragment.places[reg])[lane];
    }
    const std::uint64_t word = row_at<const std::uint32_t>(context, fragment.places[reg])[lane];
    return word >> (index * bits) & ((std::uint64_t{1} << bits) - 1);
}

void write_element(Context& context, const Fragment& fragment, unsigned lane, unsigned reg, unsigned index,
                   std::uint64_t bits) {
    const unsigned width = bits_of(fragment.element);
    if (width == 64) {
        row_at<std::uint64_t>(context, fragment.places[reg])[lane] = bits;
        return;
    }
    auto& word = row_at<std::uint32_t>(context, fragment.places[reg])[lane];
    const auto field = static_cast<std::uint32_t>(((std::uint64_t{1} << width) - 1) << (index * width));
    word = (word & ~field) | (static_cast<std::uint32_t>(bits << (index * width)) & field);
}

}  // namespace egpu::simulated
