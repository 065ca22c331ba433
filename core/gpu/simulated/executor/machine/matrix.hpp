// SPDX-License-Identifier: Apache-2.0
// What the matrix instructions (wmma, mma) work on: shape, element types, and how fragments lie over the lanes.
#pragma once

#include <cstdint>

namespace egpu::simulated {

enum class MatrixElement : std::uint8_t { none, f16, bf16, tf32, f32, f64, e4m3, e5m2, s8, u8, s4, u4, b1, s32 };

constexpr unsigned bits_of(MatrixElement element) {
    switch (element) {
        case MatrixElement::f64:
            return 64;
        case MatrixElement::tf32:
        case MatrixElement::f32:
        case MatrixElement::s32:
            return 32;
        case MatrixElement::f16:
        case MatrixElement::bf16:
            return 16;
        case MatrixElement::s4:
        case MatrixElement::u4:
            return 4;
        case MatrixElement::b1:
            return 1;
        default:
            return 8;
    }
}

/// Which element of a matrix a lane's register holds.
enum class FragmentKind : std::uint8_t {
    groups,  ///< mma: eight groups of four lanes (PTX ISA 9.0, section 9.7.14.5)
    quads,   ///< mma.m8n8k4 with .f16: four products, each of eight lanes (section 9.7.14.5.1)
    linear,  ///< wmma, where the ISA leaves it open: lane after lane in the order of rows, again from the start where
             ///< a fragment has more elements than the matrix
};

/// One matrix instruction. Its registers are the rows in Program::places from Instruction::list on: d, a, b, c.
struct MatrixForm {
    FragmentKind kind = FragmentKind::groups;
    std::uint16_t m = 0, n = 0, k = 0;
    MatrixElement a = MatrixElement::none, b = MatrixElement::none, c = MatrixElement::none, d = MatrixElement::none;
    std::uint8_t a_registers = 0, b_registers = 0, c_registers = 0, d_registers = 0;
    bool a_by_columns = false, b_by_columns = false;  ///< quads: which elements lanes hold; loads and stores: memory
    bool saturates = false;                           ///< .satfinite: to the range of s32
    bool ands = false;                                ///< b1: .and.popc, else .xor.popc
    std::uint8_t rounding = 0;                        ///< f64: a Rounding
};

}  // namespace egpu::simulated
