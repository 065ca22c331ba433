// SPDX-License-Identifier: Apache-2.0
// Operands become rows: registers, immediates, special registers, addresses (PTX ISA 9.0, chapter 6).
#include <array>
#include <bit>
#include <utility>

#include <fmt/format.h>

#include "gpu/simulated/executor/decoder/function_decoder.hpp"
#include "gpu/simulated/executor/machine/special.hpp"
#include "gpu/simulated/executor/operations/special.hpp"

namespace egpu::simulated {
namespace {

using Kind = ptx::Operand::Kind;

constexpr std::array<std::pair<std::string_view, WarpRow>, 10> kWarpRegisters = {{
    {"%tid.x", WarpRow::tid_x},
    {"%tid.y", WarpRow::tid_y},
    {"%tid.z", WarpRow::tid_z},
    {"%laneid", WarpRow::laneid},
    {"%lanemask_eq", WarpRow::lanemask_eq},
    {"%lanemask_lt", WarpRow::lanemask_lt},
    {"%lanemask_le", WarpRow::lanemask_le},
    {"%lanemask_gt", WarpRow::lanemask_gt},
    {"%lanemask_ge", WarpRow::lanemask_ge},
    {"%warpid", WarpRow::warpid},
}};
/// A launch without clusters is one of clusters of one block (PTX ISA 9.0, sections 10.12 to 10.17).
constexpr std::array<std::pair<std::string_view, BlockRow>, 33> kBlockRegisters = {{
    {"%ctaid.x", BlockRow::ctaid_x},
    {"%ctaid.y", BlockRow::ctaid_y},
    {"%ctaid.z", BlockRow::ctaid_z},
    {"%ntid.x", BlockRow::ntid_x},
    {"%ntid.y", BlockRow::ntid_y},
    {"%ntid.z", BlockRow::ntid_z},
    {"%nctaid.x", BlockRow::nctaid_x},
    {"%nctaid.y", BlockRow::nctaid_y},
    {"%nctaid.z", BlockRow::nctaid_z},
    {"%nwarpid", BlockRow::nwarpid},
    {"%smid", BlockRow::smid},
    {"%nsmid", BlockRow::nsmid},
    {"%dynamic_smem_size", BlockRow::dynamic_smem_size},
    {"%total_smem_size", BlockRow::total_smem_size},
    {"%aggr_smem_size", BlockRow::total_smem_size},
    {"WARP_SZ", BlockRow::warp_size},
    {"%clusterid.x", BlockRow::clusterid_x},
    {"%clusterid.y", BlockRow::clusterid_y},
    {"%clusterid.z", BlockRow::clusterid_z},
    {"%nclusterid.x", BlockRow::nclusterid_x},
    {"%nclusterid.y", BlockRow::nclusterid_y},
    {"%nclusterid.z", BlockRow::nclusterid_z},
    {"%cluster_ctaid.x", BlockRow::cluster_ctaid_x},
    {"%cluster_ctaid.y", BlockRow::cluster_ctaid_y},
    {"%cluster_ctaid.z", BlockRow::cluster_ctaid_z},
    {"%cluster_nctaid.x", BlockRow::cluster_nctaid_x},
    {"%cluster_nctaid.y", BlockRow::cluster_nctaid_y},
    {"%cluster_nctaid.z", BlockRow::cluster_nctaid_z},
    {"%cluster_ctarank", BlockRow::cluster_ctarank},
    {"%cluster_nctarank", BlockRow::cluster_nctarank},
    {"%reserved_smem_offset_begin", BlockRow::zero},
    {"%reserved_smem_offset_end", BlockRow::zero},
    {"%reserved_smem_offset_cap", BlockRow::zero},
}};

bool is_wide(Type type) {
    return bits_of(type) == 64;
}

/// What the `%w` forms of vector special registers read as: 0.
bool is_fourth_component(std::string_view name) {
    return name == "%tid.w" || name == "%ntid.w" || name == "%ctaid.w" || name == "%nctaid.w" ||
           name == "%clusterid.w" || name == "%nclusterid.w" || name == "%cluster_ctaid.w" ||
           name == "%cluster_nctaid.w";
}

}  // namespace

/// A row of the other width: low half, or the value extended.
Place FunctionDecoder::narrowed(Place place, bool from_wide, bool to_wide, bool sign) {
    if (from_wide == to_wide) {
        return place;
    }
    Instruction instruction = begin();
    instruction.handler = resize_handler(from_wide, to_wide, sign);
    instruction.destination = layout_.row(to_wide ? Type::b64 : Type::b32);
    instruction.sources[0] = place;
    instruction.cost = 0;
    emit(instruction);
    return instruction.destination;
}

const Symbol* FunctionDecoder::register_of(const ptx::Operand& operand) {
    if (operand.kind != Kind::identifier) {
        return nullptr;
    }
    const Symbol* const found = symbol(operand.text);
    return found != nullptr && found->kind == Symbol::Kind::reg ? found : nullptr;
}

/// A source register may be wider than the type (ld, st, cvt and the like read its low bits), never narrower.
Place FunctionDecoder::source_register(const Symbol& found, const ptx::Operand& operand, Type type) {
    if (found.type == Type::pred || bits_of(found.type) < bits_of(type)) {
        malformed(fmt::format("'{}' needs a .{} operand, '{}' is .{}", current_->opcode, to_string(type), operand.text,
                              to_string(found.type)));
        return {};
    }
    return narrowed(found.place, is_wide(found.type), is_wide(type), false);
}

Place FunctionDecoder::predicate(const ptx::Operand& operand, bool& negated) {
    std::string_view name = operand.text;
    negated = operand.negated;
    if (name.starts_with('!')) {
        name.remove_prefix(1);
        while (name.starts_with(' ') || name.starts_with('\t')) {
            name.remove_prefix(1);
        }
    }
    if (operand.kind == Kind::integer) {
        return builder_.constant_mask(operand.integer != 0);
    }
    if (name == "%is_explicit_cluster") {
        return place_of(BlockRow::is_explicit_cluster);
    }
    const Symbol* const found = symbol(name);
    if (found == nullptr || found->kind != Symbol::Kind::reg || found->type != Type::pred) {
        malformed(fmt::format("'{}' needs a predicate, not '{}'", current_->opcode, operand.text));
        return {};
    }
    return found->place;
}

Place FunctionDecoder::immediate(const ptx::Operand& operand, Type type) {
    auto bits = static_cast<std::uint64_t>(operand.integer);
    if (operand.kind == Kind::floating) {
        if (operand.floating_bits == 64 && type == Type::f32) {
            bits = std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(bits)));
        } else if (operand.floating_bits == 32 && type == Type::f64) {
            bits = std::bit_cast<std::uint64_t>(double{std::bit_cast<float>(static_cast<std::uint32_t>(bits))});
        } else if (static_cast<std::uint32_t>(operand.floating_bits) > bits_of(type)) {
            malformed(fmt::format("'{}' does not fit an operand of type .{}", operand.text, to_string(type)));
        }
    } else if (bits_of(type) == 16) {
        bits &= 0xffff;
    } else if (bits_of(type) == 8) {
        bits &= 0xff;
    }
    return builder_.constant(bits, is_wide(type));
}

Place FunctionDecoder::dynamic_register(std::string_view name, bool wide_wanted, bool wide) {
    Instruction instruction = begin();
    instruction.handler = dynamic_register_handler(name);
    instruction.destination = layout_.row(wide ? Type::b64 : Type::b32);
    emit(instruction);
    return narrowed(instruction.destination, wide, wide_wanted, false);
}

std::optional<Place> FunctionDecoder::special_register(std::string_view name, Type type) {
    for (const auto& [known, row] : kWarpRegisters) {
        if (known == name) {
            return narrowed(place_of(row), false, is_wide(type), false);
        }
    }
    for (const auto& [known, row] : kBlockRegisters) {
        if (known == name) {
            return narrowed(place_of(row), false, is_wide(type), false);
        }
    }
    if (name == "%gridid") {
        return narrowed(kGridIdPlace, true, is_wide(type), false);
    }
    if (is_fourth_component(name) || name.starts_with("%envreg") || name.starts_with("%pm")) {
        return builder_.constant(0, is_wide(type));
    }
    if (dynamic_register_handler(name) != nullptr) {
        return dynamic_register(name, is_wide(type), dynamic_register_is_wide(name));
    }
    return std::nullopt;
}

/// The address of a variable of the module or of the kernel, in its own space, where it is known when decoding.
std::optional<std::uint64_t> FunctionDecoder::address_value(std::string_view name, std::int64_t offset) {
    const ptx::Variable* declaration = nullptr;
    if (const Symbol* const found = symbol(name)) {
        if (found->kind == Symbol::Kind::parameter) {
            return found->offset + static_cast<std::uint64_t>(offset);
        }
        if (found->kind != Symbol::Kind::variable) {
            return std::nullopt;
        }
        declaration = found->declaration;
    }
    const ModuleSymbols& symbols = builder_.symbols();
    const auto global = symbols.variables.find(name);
    if (declaration == nullptr && global != symbols.variables.end()) {
        declaration = global->second.declaration;
    }
    if (declaration != nullptr && declaration->space == ptx::Space::shared) {
        return builder_.shared_offset(*declaration) + static_cast<std::uint64_t>(offset);
    }
    if (global != symbols.variables.end() && global->second.address != 0) {
        return global->second.address + static_cast<std::uint64_t>(offset);
    }
    const auto function = symbols.function_index.find(name);
    if (declaration == nullptr && function != symbols.function_index.end()) {
        builder_.address_taken.resize(symbols.functions.size());
        builder_.address_taken[function->second] = true;
        return symbols.function_base + std::uint64_t{function->second} * 16;
    }
    return std::nullopt;
}

Place FunctionDecoder::variable_address(std::string_view name, std::int64_t offset, Type type) {
    if (type != Type::none && bits_of(type) < 32) {
        malformed(fmt::format("the address of '{}' does not fit .{}", name, to_string(type)));
        return {};
    }
    const Symbol* const found = symbol(name);
    if (found != nullptr && found->kind == Symbol::Kind::frame) {
        Instruction instruction = begin();
        instruction.handler = local_address_handler(is_wide(type));
        instruction.destination = layout_.row(type);
        instruction.offset = static_cast<std::int64_t>(found->offset) + offset;
        emit(instruction);
        return instruction.destination;
    }
    const auto value = address_value(name, offset);
    if (!value) {
        malformed(fmt::format("'{}' is not declared, or has no address", name));
        return {};
    }
    return builder_.constant(*value, is_wide(type));
}

Place FunctionDecoder::source(const ptx::Operand& operand, Type type) {
    if (failed()) {
        return {};
    }
    if (operand.kind == Kind::integer || operand.kind == Kind::floating) {
        return immediate(operand, type);
    }
    if (operand.kind == Kind::identifier && !operand.negated) {
        if (operand.base.empty()) {
            if (const Symbol* const found = register_of(operand)) {
                return source_register(*found, operand, type);
            }
            if (const auto place = special_register(operand.text, type)) {
                return *place;
            }
            if (operand.text.starts_with('%')) {
                if (symbol(operand.text) == nullptr) {
                    missing(fmt::format("register '{}'", operand.text));
                    return {};
                }
            }
        }
        return variable_address(operand.base.empty() ? operand.text : operand.base, operand.integer, type);
    }
    missing(fmt::format("the operand '{}' of '{}'", operand.text, current_->opcode));
    return {};
}

FunctionDecoder::Target FunctionDecoder::target(const ptx::Operand& operand, Type type) {
    Target target;
    if (operand.kind == Kind::identifier && operand.text == "_") {
        target.place = layout_.row(type);
        return target;
    }
    const Symbol* const found = register_of(operand);
    if (found == nullptr || found->type == Type::pred || bits_of(found->type) < bits_of(type)) {
        malformed(fmt::format("'{}' has a result of type .{}, '{}' can't take it", current_->opcode, to_string(type),
                              operand.text));
        return target;
    }
    if (is_wide(found->type) == is_wide(type)) {
        target.place = found->place;
        return target;
    }
    target.extend = true;
    target.sign = is_signed(type);
    target.place = layout_.row(type);
    target.final_place = found->place;
    return target;
}

void FunctionDecoder::finish(const Target& target) {
    if (!target.extend || failed()) {
        return;
    }
    Instruction instruction = begin();
    instruction.handler = resize_handler(false, true, target.sign);
    instruction.destination = target.final_place;
    instruction.sources[0] = target.place;
    instruction.cost = 0;
    emit(instruction);
}

Place FunctionDecoder::predicate_target(const ptx::Operand& operand) {
    if (operand.kind == Kind::identifier && operand.text == "_") {
        return layout_.row(Type::pred);
    }
    const Symbol* const found = register_of(operand);
    if (found == nullptr || found->type != Type::pred) {
        malformed(fmt::format("'{}' sets a predicate, '{}' is none", current_->opcode, operand.text));
        return {};
    }
    return found->place;
}

}  // namespace egpu::simulated
