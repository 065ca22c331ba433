// SPDX-License-Identifier: Apache-2.0
// THE table of opcodes that touch memory (PTX ISA 9.0, section 9.7.9 and others): space, bytes, direction, operands.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "ptx/syntax/tree.hpp"

namespace egpu::ptx {

enum class AccessKind { load, store, atomic, reduction, async_copy };
enum class AccessSpace { global, shared, local, constant, param, generic };

/// What one memory instruction does. Operands are indices into Instruction::operands.
struct MemoryAccess {
    AccessKind kind = AccessKind::load;
    AccessSpace space = AccessSpace::generic;
    std::uint32_t element_bytes = 0;  ///< 4 for .f32
    std::uint32_t vector = 1;         ///< 4 for .v4
    int address_operand = -1;         ///< the Operand of kind address
    int value_operand = -1;           ///< destination of a load/atomic, source of a store/reduction; -1: none
    /// async_copy: what may make a lane read fewer bytes than bytes_per_lane() says (a src-size in a register, or the
    /// predicate ignore-src); -1: none. A literal src-size is already in element_bytes.
    int fewer_bytes_operand = -1;
    std::uint32_t bytes_per_lane() const { return element_bytes * vector; }
};

/// The memory access of an instruction; nullopt where it touches no memory or only .param of calls and kernel
/// parameters (ld.param is reported with space param only for `include_param`).
std::optional<MemoryAccess> memory_access(const Instruction& instruction, bool include_param = false);

/// True for opcodes that touch memory in a way that memory_access does not describe yet (tensor copies, wmma,
/// textures): probes at memory events list them as "not counted", never as 0.
bool touches_memory_in_an_unknown_way(const Instruction& instruction);

/// Bytes of a PTX scalar type ("f32" -> 4, "pred" -> 1, "b128" -> 16); 0 for an unknown one.
std::uint32_t type_bytes(std::string_view type);

}  // namespace egpu::ptx
