// SPDX-License-Identifier: Apache-2.0
// Matrix instructions of a warp (PTX ISA 9.0, sections 9.7.14 and 9.7.15): wmma, mma, ldmatrix, stmatrix, movmatrix.
// All act for the 32 lanes at once.
#pragma once

#include "gpu/simulated/executor/machine/matrix.hpp"
#include "gpu/simulated/executor/machine/program.hpp"

namespace egpu::simulated {

/// d = a * b + c of the form at Instruction::target. Floating point: products are exact; d begins as c and takes them
/// in the order of k, each sum rounded to f32 (f64: to f64), and is rounded once more where it is f16. Integers: exact,
/// then cut to 32 bits, or saturated.
Handler multiply_handler(const MatrixForm& form);

/// wmma.load and .store: sources 0 the address (generic), 1 the distance of rows (or columns) in elements. The form's
/// `d` is the element, `m` x `n` the matrix, `d_registers` the registers; `a_by_columns` is the order in memory.
Handler load_matrix_handler();
Handler store_matrix_handler();

/// ldmatrix and stmatrix .m8n8.b16: `vector` matrices, rows at the addresses that the first 8 * vector lanes have.
Handler load_rows_handler(bool transposed);
Handler store_rows_handler(bool transposed);
/// movmatrix.m8n8.trans.b16.
Handler transpose_handler();

}  // namespace egpu::simulated
