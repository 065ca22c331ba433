// SPDX-License-Identifier: Apache-2.0
// From the functions of an object to one program each: relocated, with the local functions it calls behind it.
#pragma once

#include <map>
#include <set>

#include "ebpf/object/constants.hpp"
#include "ebpf/object/core.hpp"
#include "ebpf/object/globals.hpp"
#include "ebpf/object/maps.hpp"
#include "ebpf/object/source.hpp"

namespace egpu::ebpf {

struct Function {
    std::string name;
    std::uint32_t section = 0;
    std::uint32_t first = 0, count = 0;  ///< instructions in the section
    bool is_global = false;
};

/// Every function of the object's code sections, by (section, first instruction).
Result<std::vector<Function>> read_functions(const Source& source);

class Linker {
public:
    Linker(const Source& source, const std::vector<Function>& functions, const std::vector<MapSource>& maps,
           const Constants& constants);

    /// Global variables that a program for the Linux kernel uses, itself or in what it calls, are that kernel's: no
    /// program linked afterwards has them.
    void leave_to_linux(const Function& entry);

    /// Instructions and lines of `entry` and all it calls. Map loads and addresses in maps name an index of `maps`.
    Status link(const Function& entry, Program& program);

private:
    /// A local call in the program, and where it must go.
    struct Call {
        std::uint32_t instruction = 0;
        const Function* to = nullptr;
    };

    const PatchedCode& code_of(std::uint32_t section);
    Status append(const Function& function, Program& program, std::vector<Call>& calls);
    Status finish(const Function& function, std::uint32_t index, const ElfRelocation* own, Program& program,
                  std::uint32_t position, std::vector<Call>& calls) const;
    Status relocate(const ElfRelocation& relocation, Instruction& first, Instruction* second) const;
    Status load_address(const ElfRelocation& relocation, Instruction& first, Instruction* second) const;
    Status data_address(const ElfSymbol& symbol, Instruction& first, Instruction& second) const;
    Status global_address(const ElfSymbol& symbol, Instruction& first, Instruction& second) const;
    Result<const Function*> callee(const Function& function, std::uint32_t at, const Instruction& call,
                                   const ElfRelocation* relocation) const;
    void add_lines(const Function& function, std::uint32_t start, Program& program) const;
    Diagnostic at(Diagnostic diagnostic, const Function& function, std::uint32_t instruction) const;

    const Source& source_;
    const std::vector<Function>& functions_;
    const std::vector<MapSource>& maps_;
    const Constants& constants_;
    std::set<std::string> guarded_;
    std::map<std::uint32_t, PatchedCode> code_;
    std::size_t instructions_ = 0;  // of all programs so far
    std::set<const Function*> linux_functions_;
    std::size_t linux_instructions_ = 0;
    std::set<std::uint32_t> of_linux_;  // sections of global variables
};

}  // namespace egpu::ebpf
