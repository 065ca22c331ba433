// SPDX-License-Identifier: Apache-2.0
// The table, and how the modifiers and operands of a row's instructions are read.
//
//   ld.global.nc.L1::no_allocate.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1], %policy;
//   -> load, global, 4 bytes x 4, address operand 1, value operand 0
#include "ptx/opcodes/memory.hpp"

#include <array>

#include "ptx/syntax/types.hpp"

namespace egpu::ptx {
namespace {

enum class Effect {
    load,
    store,
    atomic,
    reduction,
    async_copy,
    unknown,  ///< moves data in a way that MemoryAccess can't say
    none,     ///< moves no data of its own
};

struct Row {
    std::string_view opcode;  ///< the first parts of the opcode
    Effect effect;
};

// PTX ISA 9.0, sections 9.7.9 (data movement), 9.7.10 and 9.7.11 (textures, surfaces), 9.7.13 (synchronisation),
// 9.7.14 to 9.7.16 (matrices). A longer row stands before a shorter one with the same beginning. Opcodes that are in no
// row don't touch memory. Barriers on objects in shared memory (mbarrier) are synchronisation, as `bar` is.
constexpr std::array kRows = {
    Row{"ld", Effect::load},
    Row{"ldu", Effect::load},
    Row{"st.async", Effect::unknown},
    Row{"st.bulk", Effect::unknown},
    Row{"st", Effect::store},
    Row{"atom", Effect::atomic},
    Row{"red.async", Effect::unknown},
    Row{"red", Effect::reduction},
    Row{"cp.async.bulk.commit_group", Effect::none},
    Row{"cp.async.bulk.wait_group", Effect::none},
    Row{"cp.async.bulk.prefetch", Effect::none},
    Row{"cp.async.bulk", Effect::unknown},
    Row{"cp.async.commit_group", Effect::none},
    Row{"cp.async.wait_group", Effect::none},
    Row{"cp.async.wait_all", Effect::none},
    Row{"cp.async.mbarrier", Effect::none},
    Row{"cp.async", Effect::async_copy},
    Row{"cp", Effect::unknown},
    Row{"multimem", Effect::unknown},
    Row{"ldmatrix", Effect::unknown},
    Row{"stmatrix", Effect::unknown},
    Row{"wmma.load", Effect::unknown},
    Row{"wmma.store", Effect::unknown},
    Row{"wgmma.mma_async", Effect::unknown},
    Row{"tcgen05.mma", Effect::unknown},
    Row{"tcgen05.cp", Effect::unknown},
    Row{"tcgen05.ld", Effect::unknown},
    Row{"tcgen05.st", Effect::unknown},
    Row{"tcgen05.shift", Effect::unknown},
    Row{"tcgen05.alloc", Effect::unknown},
    Row{"tex", Effect::unknown},
    Row{"tld4", Effect::unknown},
    Row{"suld", Effect::unknown},
    Row{"sust", Effect::unknown},
    Row{"sured", Effect::unknown},
    Row{"tensormap", Effect::unknown},
    Row{"clusterlaunchcontrol.try_cancel", Effect::unknown},
};

/// True where the first parts of the instruction are those of the row.
bool matches(std::string_view row, const std::vector<std::string_view>& parts) {
    for (const std::string_view part : parts) {
        if (!row.starts_with(part) || (row.size() > part.size() && row[part.size()] != '.'))
            return false;
        if (row.size() == part.size())
            return true;
        row.remove_prefix(part.size() + 1);
    }
    return false;
}

Effect effect_of(const Instruction& instruction) {
    for (const Row& row : kRows)
        if (matches(row.opcode, instruction.parts))
            return row.effect;
    return Effect::none;
}

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

/// Space, type and vector of ld, st, atom and red. The type is the last part that is one: "red.global.v2.f32.add".
std::optional<MemoryAccess> plain_access(const Instruction& instruction, Effect effect) {
    MemoryAccess access;
    const bool address_first = effect == Effect::store || effect == Effect::reduction;
    access.address_operand = address_first ? 0 : 1;
    access.value_operand = address_first ? 1 : 0;
    for (std::size_t i = 1; i < instruction.parts.size(); ++i) {
        const std::string_view part = instruction.parts[i];
        if (const auto space = space_named(part))
            access.space = *space;
        else if (part == "v2" || part == "v4" || part == "v8")
            access.vector = static_cast<std::uint32_t>(part[1] - '0');
        else if (const std::uint32_t bytes = scalar_bytes(part); bytes != 0)
            access.element_bytes = bytes;
    }
    const bool complete = instruction.operands.size() >= 2 &&
                          is_plain_address(instruction, static_cast<std::size_t>(access.address_operand));
    return complete && access.element_bytes != 0 ? std::optional(access) : std::nullopt;
}

/// `cp.async.ca.shared.global [to], [from], 16 {, src-size or ignore-src} {, policy};` reads global memory.
std::optional<MemoryAccess> async_copy(const Instruction& instruction) {
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
    if (read.kind != Operand::Kind::integer)
        access.fewer_bytes_operand = 3;
    else if (read.integer >= 0 && read.integer <= copied)
        access.element_bytes = static_cast<std::uint32_t>(read.integer);
    else
        return std::nullopt;  // undefined by the ISA
    return access;
}

std::optional<MemoryAccess> access_of(const Instruction& instruction, Effect effect) {
    if (effect == Effect::none || effect == Effect::unknown)
        return std::nullopt;
    if (effect == Effect::async_copy)
        return async_copy(instruction);
    auto access = plain_access(instruction, effect);
    if (access)
        access->kind = effect == Effect::load     ? AccessKind::load
                       : effect == Effect::store  ? AccessKind::store
                       : effect == Effect::atomic ? AccessKind::atomic
                                                  : AccessKind::reduction;
    return access;
}

}  // namespace

std::optional<MemoryAccess> memory_access(const Instruction& instruction, bool include_param) {
    auto access = access_of(instruction, effect_of(instruction));
    if (access && access->space == AccessSpace::param && !include_param)
        return std::nullopt;
    return access;
}

bool touches_memory_in_an_unknown_way(const Instruction& instruction) {
    const Effect effect = effect_of(instruction);
    if (effect == Effect::unknown)
        return true;
    return effect != Effect::none && !access_of(instruction, effect);
}

std::uint32_t type_bytes(std::string_view type) {
    return scalar_bytes(type);
}

}  // namespace egpu::ptx
