// SPDX-License-Identifier: Apache-2.0
// Which shapes and types the matrix instructions have (PTX ISA 9.0, tables of sections 9.7.14.1 and 9.7.14.5).
#pragma once

#include <optional>
#include <string_view>

#include "gpu/simulated/executor/machine/matrix.hpp"

namespace egpu::simulated {

struct MatrixShape {
    unsigned m = 0, n = 0, k = 0;
    bool operator==(const MatrixShape&) const = default;
};

/// "m16n8k16", "m16n16" (k is 0).
std::optional<MatrixShape> parse_shape(std::string_view text);
std::optional<MatrixElement> parse_matrix_element(std::string_view text);

/// Fills in the registers of each fragment; false where there is no such wmma, or mma, instruction. Types are set.
bool complete_wmma(MatrixForm& form);
bool complete_mma(MatrixForm& form);

}  // namespace egpu::simulated
