// SPDX-License-Identifier: Apache-2.0
// Plain accesses and copies. Sections are of PTX ISA 9.0.
#include "ptx/opcodes/forms.hpp"

#include <array>

#include "ptx/syntax/types.hpp"

namespace egpu::ptx {
namespace {

/// "global", "shared::cluster", "param::entry": the space that a part of the opcode names.
std::optional<AccessSpace> space_named(std::string_view part) {
    struct Entry {
        std::string_view name;
        AccessSpace space;
    };
    static constexpr std::array<Entry, 5> kSpaces = {{{"global", AccessSpace::global},
                                                      {"shared", AccessSpace::shared},
                                                      {"local", AccessSpace::local},
                                                      {"const", AccessSpace::constant},
                                                      {"param", AccessSpace::param}}};
    const std::string_view space = part.substr(0, part.find("::"));
    for (const Entry& entry : kSpaces)
        if (entry.name == space)
            return entry.space;
    return std::nullopt;
}

bool is_plain_address(const Instruction& instruction, std::size_t index) {
    return index < instruction.operands.size() && instruction.operands[index].kind == Operand::Kind::address &&
           instruction.operands[index].parts.empty();
}

/// A size that is written as a number, or held by a register.
bool read_size(const Instruction& instruction, std::size_t index, MemoryAccess& access) {
    if (index >= instruction.operands.size())
        return false;
    const Operand& size = instruction.operands[index];
    if (size.kind == Operand::Kind::integer && size.integer >= 0 && size.integer <= 0xffffffff) {
        access.element_bytes = static_cast<std::uint32_t>(size.integer);
        return true;
    }
    if (size.kind != Operand::Kind::identifier)
        return false;
    access.bytes = MemoryAccess::Bytes::at_run_time;
    access.bytes_operand = static_cast<int>(index);
    return true;
}

}  // namespace

/// The type is the last part that is one: "red.global.v2.f32.add".
std::optional<MemoryAccess> plain_form(const Instruction& instruction, AccessKind kind) {
    MemoryAccess access;
    access.kind = kind;
    const bool address_first = kind == AccessKind::store || kind == AccessKind::reduction;
    access.address_operand = address_first ? 0 : 1;
    access.value_operand = address_first ? 1 : 0;
    for (std::size_t i = 1; i < instruction.parts.size(); ++i) {
        const std::string_view part = instruction.parts[i];
        if (const auto space = space_named(part)) {
            access.space = *space;
        } else if (part == "v2" || part == "v4" || part == "v8") {
            access.vector = static_cast<std::uint32_t>(part[1] - '0');
        } else if (const std::uint32_t bytes = scalar_bytes(part); bytes != 0) {
            access.element_bytes = bytes;
            access.type = part;
        }
    }
    const bool complete = instruction.operands.size() >= 2 &&
                          is_plain_address(instruction, static_cast<std::size_t>(access.address_operand));
    return complete && access.element_bytes != 0 ? std::optional(access) : std::nullopt;
}

std::optional<MemoryAccess> remote_form(const Instruction& instruction, AccessKind kind) {
    auto access = plain_form(instruction, kind);
    if (access && access->space == AccessSpace::generic)
        access->space = AccessSpace::shared;  // a generic address must point there
    return access;
}

std::optional<MemoryAccess> multimem_form(const Instruction& instruction, AccessKind kind) {
    auto access = plain_form(instruction, kind);
    if (access)
        access->space = AccessSpace::global;  // a generic address must point there
    return access;
}

std::optional<MemoryAccess> bulk_store_form(const Instruction& instruction, AccessKind kind) {
    MemoryAccess access;
    access.kind = kind;
    access.space = AccessSpace::shared;
    access.address_operand = 0;
    return is_plain_address(instruction, 0) && read_size(instruction, 1, access) ? std::optional(access) : std::nullopt;
}

std::optional<MemoryAccess> copy_form(const Instruction& instruction, AccessKind) {
    const auto& operands = instruction.operands;
    if (operands.size() < 3 || !is_plain_address(instruction, 1) || operands[2].kind != Operand::Kind::integer)
        return std::nullopt;
    MemoryAccess access;
    access.kind = AccessKind::async_copy;
    access.space = AccessSpace::global;
    access.address_operand = 1;
    const std::int64_t copied = operands[2].integer;
    if (copied != 4 && copied != 8 && copied != 16)
        return std::nullopt;
    access.element_bytes = static_cast<std::uint32_t>(copied);
    const std::size_t policies = instruction.has("L2::cache_hint") ? 1 : 0;
    if (operands.size() <= 3 + policies)
        return access;
    const Operand& read = operands[3];
    if (read.kind != Operand::Kind::integer) {
        access.bytes = MemoryAccess::Bytes::at_run_time;
        access.bytes_operand = 3;
    } else if (read.integer >= 0 && read.integer <= copied) {
        access.element_bytes = static_cast<std::uint32_t>(read.integer);
    } else {
        return std::nullopt;  // undefined by the ISA
    }
    return access;
}

std::optional<MemoryAccess> bulk_copy_form(const Instruction& instruction, AccessKind kind) {
    MemoryAccess access;
    access.kind = AccessKind::async_copy;
    std::array<AccessSpace, 2> spaces{};
    std::size_t found = 0;
    for (const std::string_view part : instruction.parts)
        if (const auto space = space_named(part); space && found < spaces.size())
            spaces[found++] = *space;
    if (found != 2 || !is_plain_address(instruction, 0) || !is_plain_address(instruction, 1) ||
        !read_size(instruction, 2, access))
        return std::nullopt;
    const bool writes_global = spaces[0] == AccessSpace::global;
    access.space = writes_global ? spaces[0] : spaces[1];
    access.address_operand = writes_global ? 0 : 1;
    if (writes_global)
        access.direction = kind == AccessKind::reduction ? AccessKind::reduction : AccessKind::store;
    // Masks and ignored ends make it fewer bytes than `size` says.
    if (instruction.has("cp_mask") || instruction.has("ignore_oob")) {
        access.bytes = MemoryAccess::Bytes::unknown;
        access.bytes_operand = -1;
        access.element_bytes = 0;
    }
    return access;
}

namespace {

/// The mode is that of whole boxes (PTX ISA 5.5.3, tiled mode), and the map and the rank are there to be read.
void find_tensor_map(const Instruction& instruction, MemoryAccess& access) {
    std::uint32_t rank = 0;
    for (const std::string_view part : instruction.parts) {
        if (part.starts_with("im2col") || part == "tile::gather4" || part == "tile::scatter4")
            return;
        if (part.size() == 2 && part[1] == 'd' && part[0] >= '1' && part[0] <= '5')
            rank = static_cast<std::uint32_t>(part[0] - '0');
    }
    for (std::size_t at = 0; at < instruction.operands.size(); ++at) {
        const Operand& operand = instruction.operands[at];
        const bool is_map = operand.kind == Operand::Kind::address && operand.parts.size() == 1 &&
                            operand.parts[0].kind == Operand::Kind::vector && operand.parts[0].parts.size() == rank;
        if (!is_map || rank == 0)
            continue;
        access.bytes = MemoryAccess::Bytes::in_tensor_map;
        access.bytes_operand = static_cast<int>(at);
        access.tensor_rank = rank;
        return;
    }
}

}  // namespace

std::optional<MemoryAccess> tensor_copy_form(const Instruction& instruction, AccessKind kind) {
    MemoryAccess access;
    access.kind = AccessKind::async_copy;
    access.space = AccessSpace::global;
    access.bytes = MemoryAccess::Bytes::unknown;
    find_tensor_map(instruction, access);
    // The first space is that which is written.
    for (const std::string_view part : instruction.parts)
        if (const auto space = space_named(part)) {
            if (*space == AccessSpace::global)
                access.direction = kind == AccessKind::reduction ? AccessKind::reduction : AccessKind::store;
            return access;
        }
    return std::nullopt;
}

}  // namespace egpu::ptx
