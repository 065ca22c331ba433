// SPDX-License-Identifier: Apache-2.0
// THE table of opcodes that touch memory (PTX ISA 9.0, section 9.7.9 and others): space, bytes, direction, operands.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "ptx/syntax/tree.hpp"

namespace egpu::ptx {

enum class AccessKind { load, store, atomic, reduction, async_copy };
/// `texture`: textures and surfaces, which are named by an object and coordinates and lie in no window of addresses.
enum class AccessSpace { global, shared, local, constant, param, generic, texture };

/// What one memory instruction does. Operands are indices into Instruction::operands.
struct MemoryAccess {
    AccessKind kind = AccessKind::load;
    /// async_copy: what it does at `address_operand`, which is the side in global memory, or of a copy from shared to
    /// shared memory the source: load, store or reduction.
    AccessKind direction = AccessKind::load;
    AccessSpace space = AccessSpace::generic;
    std::uint32_t element_bytes = 0;  ///< 4 for .f32
    std::uint32_t vector = 1;         ///< 4 for .v4
    int address_operand = -1;         ///< the Operand of kind address; -1: none that is one address
    int value_operand = -1;           ///< destination of a load/atomic, source of a store/reduction; -1: none
    std::string_view type;            ///< of the value's elements, "f32"; "": registers don't hold memory's order

    enum class Bytes {
        constant,       ///< bytes_per_lane()
        at_run_time,    ///< what `bytes_operand` holds; where that is a predicate: none if true, else bytes_per_lane()
        in_tensor_map,  ///< those of the box of the tensor map that `bytes_operand`, an address, names
        unknown,        ///< not in the instruction
    };
    Bytes bytes = Bytes::constant;
    int bytes_operand = -1;         ///< at_run_time, in_tensor_map
    std::uint32_t tensor_rank = 0;  ///< in_tensor_map: dimensions of the tensor, 1 to 5
    /// False where the address is that of what a warp accesses together (wmma), or where only some lanes' addresses
    /// count (ldmatrix of fewer than four matrices).
    bool address_of_lane = true;

    std::uint32_t bytes_per_lane() const { return element_bytes * vector; }
};

/// The memory access of an instruction; nullopt where it touches no memory or only .param of calls and kernel
/// parameters (ld.param is reported with space param only for `include_param`). Bytes are what the instruction asks
/// for: of matrices that a warp loads or stores together, a 32nd of their bytes, of those that a warpgroup multiplies a
/// 128th.
std::optional<MemoryAccess> memory_access(const Instruction& instruction, bool include_param = false);

/// True for opcodes that touch memory in a way that memory_access does not describe (tensor memory,
/// tensor maps): probes at memory events list them as "not counted", never as 0.
bool touches_memory_in_an_unknown_way(const Instruction& instruction);

/// Bytes of a PTX scalar type ("f32" -> 4, "pred" -> 1, "b128" -> 16); 0 for an unknown one.
std::uint32_t type_bytes(std::string_view type);

}  // namespace egpu::ptx
