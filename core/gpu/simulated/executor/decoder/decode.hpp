// SPDX-License-Identifier: Apache-2.0
// From the syntax tree of a kernel, and of all functions it reaches, to code that can be run.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "gpu/simulated/executor/machine/kernel.hpp"
#include "ptx/syntax/tree.hpp"

namespace egpu::simulated {

/// A variable of module scope. `address` is meaningful for .global and .const.
struct ModuleVariable {
    const ptx::Variable* declaration = nullptr;
    std::uint64_t address = 0;
};

/// What decoding needs to know of the module. The tree outlives it.
struct ModuleSymbols {
    const ptx::Module* tree = nullptr;
    std::string name;
    std::unordered_map<std::string_view, ModuleVariable> variables;
    std::vector<const ptx::Function*> functions;  ///< definitions, else declarations
    std::unordered_map<std::string_view, std::uint32_t> function_index;
    std::vector<bool> address_taken;         ///< by index: its address stands in an initialiser
    std::uint64_t function_base = 0;         ///< address of function 0; each takes 16
    std::vector<std::uint32_t> line_starts;  ///< offsets of the lines of the text

    std::uint32_t line_of(std::uint32_t offset) const;
};

/// Decodes an entry function. Errors: EGPU-P202, EGPU-P203.
Result<std::shared_ptr<const Kernel>> decode_kernel(const ModuleSymbols& symbols, const ptx::Function& entry);

}  // namespace egpu::simulated
