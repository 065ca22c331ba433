// SPDX-License-Identifier: Apache-2.0
// CO-RE: accesses to a context are put where this egpu has the field, by its name.
//
//   before  r1 = *(u32 *)(r6 +96)     relocation: byte offset of egpu_mem_ctx.bytes, as the object's header had it
//   after   r1 = *(u32 *)(r6 +112)    where this egpu has it
#pragma once

#include <map>
#include <set>

#include "ebpf/object/source.hpp"

namespace egpu::ebpf {

/// Instructions of one section, with its CO-RE relocations done. What could not be done is an error once a GPU
/// program contains the instruction: functions of .text may belong to the Linux kernel's programs.
struct PatchedCode {
    std::vector<Instruction> instructions;
    std::map<std::uint32_t, Diagnostic> refusals;  ///< by instruction
};

/// "egpu_mem_ctx.bytes" for each field whose existence the object asks for before it reads it.
std::set<std::string> guarded_fields(const Source& source);

PatchedCode patch_section(const Source& source, std::size_t section, const std::set<std::string>& guarded);

}  // namespace egpu::ebpf
