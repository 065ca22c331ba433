// SPDX-License-Identifier: Apache-2.0
// The table: what each opcode does to memory, and who reads the modifiers and operands of its instructions.
//
//   ld.global.nc.L1::no_allocate.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1], %policy;
//   -> load, global, 4 bytes x 4, address operand 1, value operand 0
#include "ptx/opcodes/memory.hpp"

#include <array>

#include "ptx/opcodes/forms.hpp"
#include "ptx/syntax/types.hpp"

namespace egpu::ptx {
namespace {

enum class Effect {
    access,   ///< described by the row's form
    unknown,  ///< moves data in a way that MemoryAccess can't say
    none,     ///< moves no data of its own
};

struct Row {
    std::string_view opcode;   ///< the first parts of the opcode
    std::string_view section;  ///< of PTX ISA 9.0
    Effect effect = Effect::none;
    Form form = nullptr;
    AccessKind kind = AccessKind::load;
};

using enum AccessKind;

// A longer row stands before a shorter one with the same beginning. Opcodes that are in no row don't touch memory, nor
// do barriers on objects in shared memory (mbarrier): they are synchronisation, as `bar` is.
constexpr std::array kRows = {
    Row{"ld", "9.7.9.8 ld, ld.global.nc", Effect::access, plain_form, load},
    Row{"ldu", "9.7.9.10 ldu", Effect::access, plain_form, load},
    Row{"st.async", "9.7.9.12 st.async", Effect::access, remote_form, store},
    Row{"st.bulk", "9.7.9.13 st.bulk", Effect::access, bulk_store_form, store},
    Row{"st", "9.7.9.11 st", Effect::access, plain_form, store},
    Row{"atom", "9.7.13 atom", Effect::access, plain_form, atomic},
    Row{"red.async", "9.7.13 red.async", Effect::access, remote_form, reduction},
    Row{"red", "9.7.13 red", Effect::access, plain_form, reduction},
    Row{"multimem.ld_reduce", "9.7.9.14 multimem", Effect::access, multimem_form, load},
    Row{"multimem.st", "9.7.9.14 multimem", Effect::access, multimem_form, store},
    Row{"multimem.red", "9.7.9.14 multimem", Effect::access, multimem_form, reduction},
    Row{"multimem.cp.async.bulk", "9.7.9.25 bulk copies", Effect::access, bulk_copy_form, store},
    Row{"multimem.cp.reduce.async.bulk", "9.7.9.25 bulk copies", Effect::access, bulk_copy_form, reduction},
    Row{"multimem", "9.7.9.14 multimem", Effect::unknown},
    Row{"prefetch", "9.7.9.15 prefetch"},
    Row{"prefetchu", "9.7.9.15 prefetchu"},
    Row{"applypriority", "9.7.9.16 applypriority"},
    Row{"discard", "9.7.9.17 discard"},
    Row{"createpolicy", "9.7.9.18 createpolicy"},
    Row{"mapa", "9.7.9 mapa"},  // makes an address; the access through it is ld, st, ... of shared::cluster
    Row{"cp.async.bulk.commit_group", "9.7.9.25 bulk copies"},
    Row{"cp.async.bulk.wait_group", "9.7.9.25 bulk copies"},
    Row{"cp.async.bulk.prefetch", "9.7.9.25 bulk copies"},
    Row{"cp.async.bulk.tensor", "9.7.9.25 tensor copies", Effect::access, tensor_copy_form},
    Row{"cp.async.bulk", "9.7.9.25 bulk copies", Effect::access, bulk_copy_form},
    Row{"cp.reduce.async.bulk.tensor", "9.7.9.25 tensor copies", Effect::access, tensor_copy_form, reduction},
    Row{"cp.reduce.async.bulk", "9.7.9.25 bulk copies", Effect::access, bulk_copy_form, reduction},
    Row{"cp.async.commit_group", "9.7.9.25 non-bulk copies"},
    Row{"cp.async.wait_group", "9.7.9.25 non-bulk copies"},
    Row{"cp.async.wait_all", "9.7.9.25 non-bulk copies"},
    Row{"cp.async.mbarrier", "9.7.13 mbarrier"},
    Row{"cp.async", "9.7.9.25 non-bulk copies", Effect::access, copy_form},
    Row{"cp", "9.7.9.25", Effect::unknown},
    Row{"tensormap", "9.7.9 tensormap.replace, 9.7.13 tensormap.cp_fenceproxy", Effect::unknown},
    Row{"tex", "9.7.10 tex", Effect::access, texture_form, load},
    Row{"tld4", "9.7.10 tld4", Effect::access, texture_form, load},
    Row{"suld", "9.7.11 suld", Effect::access, surface_form, load},
    Row{"sust", "9.7.11 sust", Effect::access, surface_form, store},
    Row{"sured", "9.7.11 sured", Effect::access, surface_form, reduction},
    Row{"wmma.load", "9.7.14 wmma.load", Effect::access, wmma_form, load},
    Row{"wmma.store", "9.7.14 wmma.store", Effect::access, wmma_form, store},
    Row{"ldmatrix", "9.7.14 ldmatrix", Effect::access, matrix_form, load},
    Row{"stmatrix", "9.7.14 stmatrix", Effect::access, matrix_form, store},
    Row{"wgmma.mma_async", "9.7.15 wgmma.mma_async", Effect::access, warpgroup_form, load},
    Row{"tcgen05.mma", "9.7.16 tcgen05.mma", Effect::unknown},
    Row{"tcgen05.cp", "9.7.16 tcgen05.cp", Effect::unknown},
    Row{"tcgen05.ld", "9.7.16 tcgen05.ld", Effect::unknown},
    Row{"tcgen05.st", "9.7.16 tcgen05.st", Effect::unknown},
    Row{"tcgen05.shift", "9.7.16 tcgen05.shift", Effect::unknown},
    Row{"tcgen05.alloc", "9.7.16 tcgen05.alloc", Effect::unknown},
    Row{"clusterlaunchcontrol.try_cancel", "9.7.13 clusterlaunchcontrol", Effect::unknown},
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

constexpr Row kNone{"", ""};

const Row& row_of(const Instruction& instruction) {
    // Most instructions are in no row: their first letter tells most of them apart.
    const char first =
        instruction.parts.empty() || instruction.parts.front().empty() ? '\0' : instruction.parts.front()[0];
    for (const Row& row : kRows)
        if (row.opcode.front() == first && matches(row.opcode, instruction.parts))
            return row;
    return kNone;
}

std::optional<MemoryAccess> access_of(const Instruction& instruction, const Row& row) {
    return row.effect == Effect::access ? row.form(instruction, row.kind) : std::nullopt;
}

}  // namespace

std::optional<MemoryAccess> memory_access(const Instruction& instruction, bool include_param) {
    auto access = access_of(instruction, row_of(instruction));
    if (access && access->space == AccessSpace::param && !include_param)
        return std::nullopt;
    return access;
}

bool touches_memory_in_an_unknown_way(const Instruction& instruction) {
    const Row& row = row_of(instruction);
    return row.effect == Effect::unknown || (row.effect == Effect::access && !access_of(instruction, row));
}

std::uint32_t type_bytes(std::string_view type) {
    return scalar_bytes(type);
}

}  // namespace egpu::ptx
