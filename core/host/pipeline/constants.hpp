// SPDX-License-Identifier: Apache-2.0
// Where a copy's constants lie (DESIGN 6, rule 4): read from the original's variables by address, which is right for
// every launch, or in a constant bank of the copy's own, which is made equal to the original's before each launch. The
// second costs a copy of up to 64 KiB on the GPU before the launch (+1.8 us on an H200), the first may cost registers.
#pragma once

#include <vector>

#include "host/pipeline/assembler.hpp"
#include "host/pipeline/copies.hpp"

namespace egpu::host {

enum class ConstantForm {
    by_figures,  ///< the bank where reading by address costs at least kRegistersWorthARefresh, or more spills
    by_address,
    bank,  ///< wherever it can be
};

/// Registers are given out by eight: fewer change nothing but the figure.
inline constexpr std::uint32_t kRegistersWorthARefresh = 8;

/// What EGPU_CONSTANTS asks for ("address", "bank"); by_figures where it is unset or anything else.
ConstantForm constant_form();
/// What EGPU_CONSTANTS says where that is no form; "" where it is one, or is not set.
std::string misnamed_constant_form();

/// For copies that were built by address: the form with a bank beside it (CopyBuild::banked) where it is to be used. On
/// the simulated GPU, which has no figures (`compiler` null), only where it is asked for.
void add_banks(Assembler& assembler, const inject::Compiler* compiler, const ImageBuild& image, ConstantForm form,
               std::vector<CopyBuild>& builds);

}  // namespace egpu::host
