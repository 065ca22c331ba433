// SPDX-License-Identifier: Apache-2.0
// The PTX modules of a file, for the developers' commands: PTX text, or what a fatbinary, program or library holds.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "ptx/syntax/tree.hpp"

namespace egpu::cli {

struct NamedModule {
    std::string name;  ///< "vecadd.ptx", "app: PTX 2 (sm_90)"
    ptx::Module module;
    bool relocatable = false;  ///< needs a link (-rdc): its image says so, or it declares what it does not define
    std::chrono::nanoseconds parsing{};  ///< what parsing took
};

/// EGPU-P1xx where the file holds no image, EGPU-P0xx where a text is no PTX, EGPU-X062 where it holds no PTX.
Result<std::vector<NamedModule>> read_modules(const std::string& file);

/// The function of a module whose text an offset is in; "" outside of functions.
std::string_view function_at(const ptx::Module& module, std::uint32_t offset);
/// 1 for the first line.
std::uint32_t line_at(std::string_view text, std::uint32_t offset);

/// Functions of the module that are kernels with a body.
std::vector<const ptx::Function*> kernels_of(const ptx::Module& module);

}  // namespace egpu::cli
