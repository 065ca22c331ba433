// SPDX-License-Identifier: Apache-2.0
//   before:  .global .u32 counter;  .const .f32 table[64];
//            ld.global.u32   %r1, [counter+4];
//            mov.u64         %rd1, table;
//            ld.const.f32    %f1, [%rd1+8];
//   after:   .reg .b64 %egpu_g<2>;                           (at the function's start)
//            ld.const.u64    %egpu_g0, [egpu_table];
//            ld.const.u64    %egpu_g1, [egpu_table+8];
//            ld.global.u32   %r1, [%egpu_g0+4];
//            mov.u64         %rd1, %egpu_g1;
//            ld.global.nc.f32 %f1, [%rd1+8];
// An address in the constant window means the copy's own constants, so in a copy every address of a constant is a
// generic one: it starts as one (mov of the symbol), arithmetic keeps it, ld.const reads it as global memory, and
// cvta from and to .const are moves. cuModuleGetGlobal gives such addresses (DESIGN 2). Constants that lie in the
// copy's own bank (constants.cpp) and the instructions that read them stay as they are.
#include "inject/clone/addressing.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "ptx/opcodes/memory.hpp"

namespace egpu::inject {
namespace {

using ptx::Operand;

/// Only type and vector behind the space: then the non-coherent load means the same, and needs no ordering.
bool is_plain_constant_load(const ptx::Instruction& load) {
    return std::all_of(load.parts.begin() + 1, load.parts.end(), [](std::string_view part) {
        return part == "const" || part == "v2" || part == "v4" || ptx::type_bytes(part) != 0;
    });
}

}  // namespace

bool is_shared_with_original(const ptx::Variable& variable) {
    return variable.space == ptx::Space::global || variable.space == ptx::Space::constant;
}

Diagnostic Addressing::refuse(const ptx::Instruction& instruction, std::string_view code, std::string message) const {
    Diagnostic diagnostic = error(code, fmt::format("'{}': {}", outline_.function().name, message));
    diagnostic.where.file = std::string(outline_.module().file_name(instruction.source.file));
    diagnostic.where.line = instruction.source.line;
    diagnostic.fix = "leave this kernel out with --exclude-kernel";
    return diagnostic;
}

/// A copy that kept the declaration would have a variable of its own; whether the driver finds the original's by its
/// name, nothing says.
Diagnostic Addressing::refuse_local(const ptx::Variable& variable) const {
    Diagnostic diagnostic =
        error("EGPU-P236", fmt::format("'{}' declares '{}' in its body, which a copy can't share with the original",
                                       outline_.function().name, variable.name));
    diagnostic.fix = "declare it outside of functions, as compilers do";
    return diagnostic;
}

Status Addressing::rewrite() {
    const auto& items = outline_.items();
    for (std::size_t index = 0; index < items.size(); ++index) {
        if (const auto* variable = items[index].variable(); variable != nullptr && is_shared_with_original(*variable))
            return refuse_local(*variable);
        if (const auto* instruction = items[index].instruction())
            if (auto status = rewrite_instruction(index, *instruction); !status)
                return status;
    }
    return ok();
}

Status Addressing::rewrite_instruction(std::size_t index, const ptx::Instruction& instruction) {
    if (instruction.has("const"))
        if (auto status = rewrite_constant_space(index, instruction); !status)
            return status;
    for (const Operand& whole : instruction.operands)
        for (const Operand* operand : with_parts(whole))
            if (auto status = rewrite_operand(index, instruction, *operand); !status)
                return status;
    return ok();
}

Status Addressing::rewrite_operand(std::size_t index, const ptx::Instruction& instruction, const Operand& operand) {
    const auto is_shared = [&](std::string_view name) {
        const auto meaning = outline_.meaning_of(name, index);
        return meaning.kind == Meaning::Kind::module_variable && is_shared_with_original(*meaning.variable);
    };
    if (operand.kind == Operand::Kind::other) {
        for (const auto name : identifiers_in(operand.text))
            if (is_shared(name))
                return refuse(instruction, "EGPU-P232",
                              fmt::format("'{}' is used in an expression that can't be written with an address: {}",
                                          name, operand.text));
        return ok();
    }
    const std::string_view name = base_name(operand);
    if (name.empty() || !is_shared(name))
        return ok();
    if (bank_.holds(*outline_.meaning_of(name, index).variable)) {
        register_for({name, 0});  // for programs that ask where the original's lies; else nothing uses it
        return ok();
    }
    if (operand.kind == Operand::Kind::address) {
        editor_.replace(ptx::range_of(outline_.module(), name), register_for({name, 0}));
        return ok();
    }
    const bool wide = std::none_of(instruction.parts.begin(), instruction.parts.end(), [](std::string_view part) {
        return part == "u32" || part == "b32" || part == "s32";
    });
    if (!wide && instruction.parts.front() != "call")
        return refuse(instruction, "EGPU-P233", fmt::format("the address of '{}' is taken with 32 bits", name));
    editor_.replace(operand.range, register_for({name, operand.integer}));
    return ok();
}

bool Addressing::reads_bank(std::size_t index, const Operand& address) const {
    const auto meaning = outline_.meaning_of(address.base, index);
    if (meaning.kind == Meaning::Kind::module_variable)
        return bank_.holds(*meaning.variable);
    return !bank_.pointed_to(outline_.function(), address.base).empty();
}

Status Addressing::rewrite_constant_space(std::size_t index, const ptx::Instruction& instruction) {
    const auto part = std::find(instruction.parts.begin(), instruction.parts.end(), "const");
    const ptx::Range space = ptx::range_of(outline_.module(), *part);
    const std::string_view name = instruction.parts.front();
    if (name == "ld") {
        const Operand* address = instruction.operands.size() < 2 ? nullptr : &instruction.operands[1];
        if (address == nullptr || address->kind != Operand::Kind::address || address->base.empty())
            return refuse(instruction, "EGPU-P234",
                          "a constant is read at an address that is no variable and no register");
        if (reads_bank(index, *address))
            return ok();
        if (outline_.register_bits(address->base, index) == 32)
            return refuse(instruction, "EGPU-P233", "a constant is read through a 32-bit address");
        editor_.replace(space, is_plain_constant_load(instruction) ? "global.nc" : "global");
        return ok();
    }
    if (name == "cvta") {
        if (!instruction.has("u64"))
            return refuse(instruction, "EGPU-P233", "a constant's address is converted with 32 bits");
        editor_.replace(ptx::range_of(outline_.module(), instruction.opcode), "mov.u64");
        return ok();
    }
    return refuse(instruction, "EGPU-P231",
                  fmt::format("{} asks about constant memory, which a copy reads by address", instruction.opcode));
}

std::string Addressing::register_for(Key key) {
    const auto number = registers_.try_emplace(key, static_cast<std::uint32_t>(registers_.size())).first->second;
    // An offset is added to the plain address, which must have a register too.
    if (key.offset != 0)
        registers_.try_emplace(Key{key.symbol, 0}, static_cast<std::uint32_t>(registers_.size()));
    return fmt::format("%egpu_g{}", number);
}

std::string Addressing::register_of(std::string_view symbol) const {
    const auto found = registers_.find(Key{symbol, 0});
    return found == registers_.end() ? std::string() : fmt::format("%egpu_g{}", found->second);
}

std::string Addressing::start_text() const {
    if (registers_.empty())
        return {};
    std::string text = fmt::format(".reg .b64 %egpu_g<{}>;\n", registers_.size());
    for (const auto& [key, number] : registers_) {
        if (key.offset != 0)
            continue;
        TableEntry entry;
        entry.kind = TableEntry::Kind::global;
        entry.symbol = std::string(key.symbol);
        text += fmt::format("\tld.const.u64 %egpu_g{}, [{}+{}];\n", number, Table::kSymbol, table_.offset_of(entry));
    }
    for (const auto& [key, number] : registers_)
        if (key.offset != 0)
            text += fmt::format("\tadd.s64 %egpu_g{}, {}, {};\n", number, register_of(key.symbol), key.offset);
    return text;
}

}  // namespace egpu::inject
