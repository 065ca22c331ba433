// SPDX-License-Identifier: Apache-2.0
// What a warp loads or stores together, textures and surfaces. Sections are of PTX ISA 9.0.
//
//   wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {...}, [p], 64;    16 x 16 elements of 2 bytes / 32 lanes = 16
//   ldmatrix.sync.aligned.m8n8.x4.shared.b16 {a, b, c, d}, [p];          4 matrices of 8 rows of 16 bytes / 32 = 16
//   wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {...}, a, b, ...;  (64 x 16 + 16 x 8) x 2 bytes / 128 = 18
// Lanes of wmma.load may hold an element twice: what counts is what the warp asks memory for.
#include <array>
#include <charconv>
#include <vector>

#include "ptx/opcodes/forms.hpp"
#include "ptx/syntax/types.hpp"

namespace egpu::ptx {
namespace {

constexpr std::uint32_t kLanes = 32, kWarpgroup = 128;

/// Bits of an element of a matrix; 0: no such type.
std::uint32_t element_bits(std::string_view type) {
    if (type == "b1")
        return 1;
    if (type == "s4" || type == "u4")
        return 4;
    return scalar_bytes(type) * 8;
}

/// The same of a matrix in shared memory that wgmma multiplies.
std::uint32_t descriptor_bits(std::string_view type) {
    return type == "e4m3" || type == "e5m2" ? 8 : element_bits(type);
}

/// "m16n8k32" -> 16, 8, 32.
std::optional<std::array<std::uint32_t, 3>> shape_named(std::string_view part) {
    std::array<std::uint32_t, 3> shape{};
    constexpr std::string_view kLetters = "mnk";
    for (std::size_t i = 0; i < shape.size(); ++i) {
        if (part.empty() || part.front() != kLetters[i])
            return std::nullopt;
        part.remove_prefix(1);
        const auto [end, status] = std::from_chars(part.data(), part.data() + part.size(), shape[i]);
        if (status != std::errc{} || shape[i] > 1024)
            return std::nullopt;
        part.remove_prefix(static_cast<std::size_t>(end - part.data()));
    }
    return part.empty() ? std::optional(shape) : std::nullopt;
}

std::optional<AccessSpace> space_of(const Instruction& instruction) {
    if (instruction.has("global"))
        return AccessSpace::global;
    if (instruction.has("shared") || instruction.has("shared::cta"))
        return AccessSpace::shared;
    return std::nullopt;
}

/// An address and a value.
bool has_operands(const Instruction& instruction, int index) {
    const auto at = static_cast<std::size_t>(index);
    return instruction.operands.size() >= 2 && instruction.operands[at].kind == Operand::Kind::address &&
           instruction.operands[at].parts.empty();
}

}  // namespace

/// 9.7.14: fragments a (m x k), b (k x n), c and d (m x n).
std::optional<MemoryAccess> wmma_form(const Instruction& instruction, AccessKind kind) {
    MemoryAccess access;
    access.kind = kind;
    access.address_operand = kind == AccessKind::store ? 0 : 1;
    access.value_operand = kind == AccessKind::store ? 1 : 0;
    access.address_of_lane = false;
    access.space = space_of(instruction).value_or(AccessSpace::generic);
    std::optional<std::array<std::uint32_t, 3>> shape;
    for (const std::string_view part : instruction.parts)
        if (!shape)
            shape = shape_named(part);
    const std::uint32_t bits = element_bits(instruction.parts.back());
    if (!shape || bits == 0 || instruction.parts.size() < 3 || !has_operands(instruction, access.address_operand))
        return std::nullopt;
    const auto [m, n, k] = *shape;
    const std::string_view fragment = instruction.parts[2];
    const std::uint32_t elements = fragment == "a" ? m * k : fragment == "b" ? k * n : m * n;
    if (elements * bits % (8 * kLanes) != 0)
        return std::nullopt;
    access.element_bytes = elements * bits / (8 * kLanes);
    return access;
}

/// 9.7.14: each row of a matrix is 16 bytes in shared memory, padding included, and its address is one lane's. Lanes
/// get, or give, as many bytes of registers as all rows have: 4 of each register in the vector.
std::optional<MemoryAccess> matrix_form(const Instruction& instruction, AccessKind kind) {
    MemoryAccess access;
    access.kind = kind;
    access.address_operand = kind == AccessKind::store ? 0 : 1;
    access.value_operand = kind == AccessKind::store ? 1 : 0;
    access.space = AccessSpace::shared;  // a generic address must point there
    if (!has_operands(instruction, access.address_operand))
        return std::nullopt;
    const std::uint32_t matrices = instruction.has("x4")   ? 4
                                   : instruction.has("x2") ? 2
                                   : instruction.has("x1") ? 1
                                                           : 0;
    const bool is_double = instruction.has("m16n16");  // 16 rows
    if (matrices == 0)
        return std::nullopt;
    access.element_bytes = 4;
    access.vector = is_double ? matrices * 2 : matrices;
    access.address_of_lane = access.vector == 4;
    return access;
}

/// 9.7.15.5: a is m x k and b is k x n elements in shared memory, of which 128 threads ask for a part each. Of a sparse
/// a (9.7.15.6) half of the elements are stored.
std::optional<MemoryAccess> warpgroup_form(const Instruction& instruction, AccessKind kind) {
    MemoryAccess access;
    access.kind = kind;
    access.space = AccessSpace::shared;
    access.address_of_lane = false;
    std::optional<std::array<std::uint32_t, 3>> shape;
    std::vector<std::string_view> types;  // of d, a and b, behind the shape
    for (const std::string_view part : instruction.parts)
        if (!shape)
            shape = shape_named(part);
        else if (part != "satfinite")  // ptxas takes it anywhere
            types.push_back(part);
    if (!shape || types.size() < 3 || instruction.operands.size() < 3)
        return std::nullopt;
    const std::uint32_t a_bits = descriptor_bits(types[1]), b_bits = descriptor_bits(types[2]);
    const auto [m, n, k] = *shape;
    const bool in_registers = instruction.operands[1].kind == Operand::Kind::vector;
    const std::uint32_t a_elements = in_registers ? 0 : m * k / (instruction.has("sp") ? 2 : 1);
    const std::uint32_t bits = a_elements * a_bits + n * k * b_bits;
    if (a_bits == 0 || b_bits == 0 || bits % (8 * kWarpgroup) != 0)
        return std::nullopt;
    access.element_bytes = bits / (8 * kWarpgroup);
    return access;
}

/// 9.7.10
std::optional<MemoryAccess> texture_form(const Instruction&, AccessKind kind) {
    MemoryAccess access;
    access.kind = kind;
    access.space = AccessSpace::texture;
    access.bytes = MemoryAccess::Bytes::unknown;
    return access;
}

/// 9.7.11
std::optional<MemoryAccess> surface_form(const Instruction& instruction, AccessKind kind) {
    MemoryAccess access;
    access.kind = kind;
    access.space = AccessSpace::texture;
    for (const std::string_view part : instruction.parts) {
        if (part == "v2" || part == "v4")
            access.vector = static_cast<std::uint32_t>(part[1] - '0');
        else if (const std::uint32_t bytes = scalar_bytes(part); bytes != 0)
            access.element_bytes = bytes;
    }
    if (instruction.has("p")) {
        access.bytes = MemoryAccess::Bytes::unknown;
        access.element_bytes = 0;
    }
    return access.element_bytes != 0 || access.bytes == MemoryAccess::Bytes::unknown ? std::optional(access)
                                                                                     : std::nullopt;
}

}  // namespace egpu::ptx
