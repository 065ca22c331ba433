// SPDX-License-Identifier: Apache-2.0
// Is the PTX of an image the source of the code that runs? (DESIGN 6, rule 1)
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/diagnostic.hpp"
#include "ptx/fatbin/image.hpp"
#include "ptx/syntax/tree.hpp"

namespace egpu::host {

/// What runs on the device and which PTX a copy would be made from. The simulated GPU runs PTX only.
ptx::Choice choose_for(const ptx::Image& image, std::uint32_t architecture, bool simulated);

/// Why a copy from this PTX would be another program than the one that runs; nullopt where it is the same.
std::optional<Diagnostic> source_mismatch(const ptx::Image& image, const ptx::Choice& choice);

/// Kernels of the cubin that runs (or, where none fits the device, of all).
std::vector<std::pair<std::string, const ptx::CubinMember*>> cubin_kernels(const ptx::Image& image,
                                                                           const ptx::Choice& choice);

/// "cubin for sm_90 only"
std::string no_ptx_reason(const ptx::Image& image, const ptx::CubinMember& cubin);

std::optional<std::uint32_t> registers_of(const ptx::CubinMember& cubin, const std::string& kernel);

/// "a", "f" or "": what `.target sm_90a` adds to the architecture.
std::string architecture_suffix(const ptx::Module& module);

}  // namespace egpu::host
