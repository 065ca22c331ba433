// SPDX-License-Identifier: Apache-2.0
// A function of memory, as a kernel of its own: specialiser and code generator tried without an application.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "ebpf/isa/instruction.hpp"
#include "ebpf/object/object.hpp"
#include "inject/codegen/codegen.hpp"

namespace egpu::inject {

inline constexpr std::uint32_t kMemoryMap = 0, kResultMap = 1;  ///< of a memory function's object

/// A program at kernel_entry that calls `body` with r1 = address of `memory_bytes` bytes (element 0 of kMemoryMap), r2
/// = their number (both 0 where there are none), and stores the r0 that it returns as element 0 of kResultMap.
ebpf::Object memory_function(const std::vector<ebpf::Instruction>& body, std::uint32_t memory_bytes);

struct StandaloneKernel {
    static constexpr const char* kEntry = "egpu_standalone";
    std::string ptx;                 ///< kEntry takes no parameters and is for one thread
    std::vector<TableEntry> table;   ///< the words of egpu_table: map elements
    std::vector<maps::Layout> maps;  ///< of kMemoryMap and kResultMap
};

/// `body` unverified: the verifier would refuse much of what a conformance suite tries. Where it has accesses at
/// addresses that aren't multiples of their size (`any_alignment`), those of which the alignment isn't known go byte by
/// byte. `sm`: 60 and up.
Result<StandaloneKernel> standalone_kernel(const std::vector<ebpf::Instruction>& body, std::uint32_t memory_bytes,
                                           std::uint32_t sm, bool any_alignment);

/// A target with a .version that knows it (PTX ISA, release notes of `.target`): whatever the text needs beyond it, the
/// code generator asks for.
Target version_for(std::uint32_t sm);

}  // namespace egpu::inject
