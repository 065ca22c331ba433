// SPDX-License-Identifier: Apache-2.0
// Is what egpu understands of a module the module? The tree is printed, and both texts are assembled: their code must
// be the same, byte for byte.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/inject/modules.hpp"

namespace egpu::cli {

struct Difference {
    std::string function;  ///< "" outside of functions
    std::string where;     ///< section of the cubins, or the lines of the texts
    std::string what;
};

struct Identity {
    std::size_t functions = 0, instructions = 0;
    std::size_t sections = 0;  ///< of code and constants, compared; 0 where nothing was assembled
    std::vector<Difference> differences;
    std::optional<Diagnostic> refusal;  ///< ptxas took the original and refuses the other text (a difference), or both
    bool refused_both = false;          ///< the original isn't taken: nothing is shown
};

/// `ptxas` nullopt: by the tokens alone. `architecture` "": the module's own target.
Identity check_identity(const NamedModule& module, const std::optional<std::string>& ptxas,
                        const std::string& architecture);

/// Compares the sections that decide what a program does: code, constants, launch bounds, shared memory, relocations.
/// `count` gets how many there are.
Result<std::vector<Difference>> compare_cubins(std::span<const std::byte> first, std::span<const std::byte> second,
                                               std::size_t& count);

}  // namespace egpu::cli
