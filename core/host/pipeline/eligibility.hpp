// SPDX-License-Identifier: Apache-2.0
// Is the PTX of an image the source of the code that runs? (DESIGN 6, rule 1)
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/diagnostic.hpp"
#include "host/catalogue/residency.hpp"
#include "inject/compile/options.hpp"
#include "ptx/fatbin/image.hpp"
#include "ptx/syntax/tree.hpp"

namespace egpu::host {

/// What runs on the device and which PTX a copy would be made from. The simulated GPU runs PTX only.
ptx::Choice choose_for(const ptx::Image& image, std::uint32_t architecture, bool simulated);

/// Why a copy from this PTX would be another program than the one that runs; nullopt where it is the same.
std::optional<Diagnostic> source_mismatch(const ptx::Image& image, const ptx::Choice& choice);

/// The same for one kernel of it: what its PTX declares against what its code takes, where the code says it: parameters
/// and launch bounds, unless `options` gave it other ones. (Static shared memory shows when the copy is compiled:
/// EGPU-A015.)
std::optional<Diagnostic> kernel_mismatch(const ptx::Function& function, const ptx::CubinKernel& code,
                                          const std::vector<std::string>& options);

/// What .maxntid or .reqntid say.
BlockBounds bounds_of(const ptx::Function& function);
/// Of the running code; nullptr where the cubin has no such kernel.
const ptx::CubinKernel* kernel_of(const ptx::CubinMember* cubin, const std::string& name);

/// What the image and the call that loaded it say of how its code was compiled.
inject::OriginalOptions original_options(const ptx::Choice& choice, std::uint32_t max_registers,
                                         std::uint32_t optimisation_level);

/// Kernels of the cubin that runs (or, where none fits the device, of all).
std::vector<std::pair<std::string, const ptx::CubinMember*>> cubin_kernels(const ptx::Image& image,
                                                                           const ptx::Choice& choice);

/// Why a kernel of a cubin has no PTX ("cubin for sm_90 only"), and what its user can do.
struct NoPtx {
    std::string reason, fix;
};
NoPtx no_ptx(const ptx::Image& image, const ptx::CubinMember& cubin);

/// Bytes of stack; nullopt where they can't be told (recursion).
std::optional<std::uint32_t> known_bytes(std::uint32_t stack_bytes);

/// "a", "f" or "": what `.target sm_90a` adds to the architecture.
std::string architecture_suffix(const ptx::Module& module);

/// What stands in a kernel's row: the reason without what explains it.
std::string first_line(const Diagnostic& diagnostic);

}  // namespace egpu::host
