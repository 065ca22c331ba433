// SPDX-License-Identifier: Apache-2.0
// Injection points to sites: which instructions of a kernel (and of the device functions it calls) a program runs at.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "ebpf/events/events.hpp"
#include "ptx/opcodes/memory.hpp"
#include "ptx/syntax/tree.hpp"

namespace egpu::inject {

/// A place in one function.
struct Site {
    const ptx::Function* function = nullptr;
    /// What the program is about, of basic_block the first one of the block; null for kernel_entry and kernel_exit.
    const ptx::Instruction* instruction = nullptr;
    ptx::MemoryAccess access;  ///< memory events; a generic address has the space that the function says it has
    /// Set where only a test at run time tells whether a generic address is in the space asked for.
    std::optional<ptx::AccessSpace> tested_space;
    std::uint32_t loop_depth = 0;
    ptx::SourceLine source;
    /// The program's text stands before this instruction, or `behind` it: `instruction` itself, but for one in the
    /// sequence of a call, which nothing may split (calls.hpp).
    const ptx::Instruction* anchor = nullptr;
    bool behind = false;
    std::optional<ptx::Guard> guard;  ///< true for the lanes that fire; none: all that are there
};

/// What a program does not see, and why: a warning.
Diagnostic note(std::string_view code, std::string message, std::string hint = {});
/// At most five of them, for a note.
std::string few_of(const std::set<std::string>& opcodes);

struct Matches {
    std::vector<Site> sites;
    std::vector<Diagnostic> notes;  ///< accesses that are not counted and why ("2 tensor copies: unknown size")
};

/// The entry and the device functions it reaches by direct calls. EGPU-P2xx where a call is indirect or a function's
/// address is taken (DESIGN 6 rule 2).
Result<std::vector<const ptx::Function*>> reachable_functions(const ptx::Module& module, const ptx::Function& entry);

/// Sites of an injection point in `functions` (entry first).
Matches find_sites(const ptx::Module& module, const std::vector<const ptx::Function*>& functions,
                   const ebpf::InjectionPoint& point);

}  // namespace egpu::inject
