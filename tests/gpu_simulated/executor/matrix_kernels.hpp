// SPDX-License-Identifier: Apache-2.0
// Kernels of one matrix instruction each, with operands whose sums are exact in any order, and what must come out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace egpu::simulated::test {

/// A kernel (in, out, scratch, count) of one warp; all values take 8 bytes.
struct MatrixCase {
    std::string name;  ///< the instruction
    std::string body;  ///< between the head, which declares registers and %in, %out, and `ret`
    std::vector<std::uint64_t> in, out;
};

std::vector<MatrixCase> mma_cases();
std::vector<MatrixCase> wmma_cases();
std::vector<MatrixCase> row_matrix_cases();  ///< ldmatrix, stmatrix, movmatrix

/// The kernels m0, m1, ... of cases.
std::string module_of(const std::vector<MatrixCase>& cases);

/// Bits of a small integer in an element type ("f16", "s4", ...).
std::uint64_t element_bits(const std::string& type, int value);
unsigned element_width(const std::string& type);

}  // namespace egpu::simulated::test
