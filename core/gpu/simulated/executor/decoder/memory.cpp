// SPDX-License-Identifier: Apache-2.0
// ld, ldu, st, atom, red: state space, address, type, vector (PTX ISA 9.0, sections 9.7.9 and 9.7.13).
#include <array>

#include <fmt/format.h>

#include "gpu/simulated/executor/decoder/function_decoder.hpp"
#include "gpu/simulated/executor/machine/cost.hpp"

namespace egpu::simulated {
namespace {

using Kind = ptx::Operand::Kind;

/// Hints to caches change nothing here. L2::cache_hint, which has an operand of its own, is not among them.
constexpr std::array<std::string_view, 22> kHints = {"ca",
                                                     "cg",
                                                     "cs",
                                                     "lu",
                                                     "cv",
                                                     "wb",
                                                     "wt",
                                                     "nc",
                                                     "weak",
                                                     "L1::evict_normal",
                                                     "L1::evict_unchanged",
                                                     "L1::evict_first",
                                                     "L1::evict_last",
                                                     "L1::no_allocate",
                                                     "L2::64B",
                                                     "L2::128B",
                                                     "L2::256B",
                                                     "L2::evict_last",
                                                     "L2::evict_normal",
                                                     "L2::evict_first",
                                                     "unified",
                                                     "mmio"};
constexpr std::array<std::string_view, 4> kScopes = {"cta", "cluster", "gpu", "sys"};

std::uint16_t load_cost(AddressSpace space) {
    switch (space) {
        case AddressSpace::shared:
        case AddressSpace::cluster:
            return cost::kSharedMemory;
        case AddressSpace::constant:
        case AddressSpace::parameter:
            return cost::kConstantMemory;
        case AddressSpace::local:
            return cost::kLocalMemory;
        default:
            return cost::kGlobalMemory;
    }
}

}  // namespace

std::optional<AddressSpace> FunctionDecoder::take_space(Parts& parts) {
    if (parts.take("global")) {
        return AddressSpace::global;
    }
    if (parts.take("shared") || parts.take("shared::cta")) {
        return AddressSpace::shared;
    }
    if (parts.take("shared::cluster")) {
        return AddressSpace::cluster;
    }
    if (parts.take("local")) {
        return AddressSpace::local;
    }
    if (parts.take("const")) {
        return AddressSpace::constant;
    }
    if (parts.take("param") || parts.take("param::entry") || parts.take("param::func")) {
        return AddressSpace::parameter;
    }
    return std::nullopt;
}

/// `[%rd1+4]`, `[variable+4]`, `[4096]`. May change the space: .param of a device function, or of a call, is local.
std::optional<FunctionDecoder::Address> FunctionDecoder::address(const ptx::Operand& operand, AddressSpace& space) {
    if (operand.kind != Kind::address || !operand.parts.empty()) {
        missing(fmt::format("the operand '{}' of '{}'", operand.text, current_->opcode));
        return std::nullopt;
    }
    Address result;
    result.offset = operand.integer;
    if (operand.base.empty()) {
        result.base = builder_.constant(0, true);
        return result;
    }
    const Symbol* const found = symbol(operand.base);
    if (found != nullptr && found->kind == Symbol::Kind::reg) {
        if (bits_of(found->type) < 32) {
            malformed(fmt::format("'{}' can't hold an address", operand.base));
            return std::nullopt;
        }
        result.base = found->place;
        result.wide = bits_of(found->type) == 64;
        if (space == AddressSpace::parameter && !is_kernel_) {
            space = AddressSpace::local;
        }
        return result;
    }
    if (found != nullptr && found->kind == Symbol::Kind::frame) {
        result.frame_relative = true;
        result.offset += static_cast<std::int64_t>(found->offset);
        space = AddressSpace::local;
        return result;
    }
    const auto value = address_value(operand.base, 0);
    if (!value) {
        malformed(fmt::format("'{}' is not declared, or has no address", operand.base));
        return std::nullopt;
    }
    if (space == AddressSpace::generic && found != nullptr && found->kind == Symbol::Kind::parameter) {
        space = AddressSpace::parameter;
    } else if (space == AddressSpace::generic) {
        const auto variable = builder_.symbols().variables.find(operand.base);
        const bool is_shared = found != nullptr ? found->declaration->space == ptx::Space::shared
                                                : variable != builder_.symbols().variables.end() &&
                                                      variable->second.declaration->space == ptx::Space::shared;
        space = is_shared ? AddressSpace::shared : AddressSpace::global;
    }
    result.base = builder_.constant(*value, true);
    return result;
}

void FunctionDecoder::set_address(Instruction& instruction, const Address& at, AddressSpace space) {
    instruction.sources[0] = at.base;
    instruction.offset = at.offset;
    instruction.resolve = resolver_of(space, at.wide, at.frame_relative);
    instruction.target = builder_.memory_slot();
}

/// The rows that a vector is loaded to or stored from. A row is wide if its register is; all elements have the width of
/// the first one, and `wide` says which.
bool FunctionDecoder::vector_rows(const std::vector<const ptx::Operand*>& elements, Type type, bool is_store,
                                  bool& wide, std::vector<Place>& places, std::vector<Target>& targets) {
    const Symbol* const first = register_of(*elements.front());
    wide = bits_of(type) == 64;
    if (first != nullptr && first->type != Type::pred) {
        wide = wide || bits_of(first->type) == 64;
    }
    for (const ptx::Operand* const element : elements) {
        const Symbol* const found = register_of(*element);
        const bool same = found != nullptr && found->type != Type::pred && bits_of(found->type) >= bits_of(type) &&
                          (bits_of(found->type) == 64) == wide;
        if (same) {
            places.push_back(found->place);
        } else if (is_store) {
            places.push_back(narrowed(source(*element, type), bits_of(type) == 64, wide, false));
        } else if (wide == (bits_of(type) == 64)) {
            targets.push_back(target(*element, type));
            places.push_back(targets.back().place);
        } else if (element->text == "_") {
            places.push_back(layout_.row(Type::b64));
        } else {
            malformed(fmt::format("'{}' can't be loaded by '{}'", element->text, current_->opcode));
            return false;
        }
    }
    return true;
}

void FunctionDecoder::decode_load_store(bool is_store) {
    Parts parts(current_->parts);
    AddressSpace space = take_space(parts).value_or(AddressSpace::generic);
    const bool is_volatile = parts.take("volatile") || parts.take("relaxed") || parts.take("mmio");
    const bool ordered = parts.take("acquire") || parts.take("release");
    for (const std::string_view part : kScopes) {
        parts.take(part);
    }
    for (const std::string_view hint : kHints) {
        parts.take(hint);
    }
    const bool policy = parts.take("L2::cache_hint");
    const std::string_view vector = parts.take_any({"v2", "v4", "v8"});
    const Type type = parts.take_type();
    if (type == Type::none || type == Type::pred || !parts.done()) {
        missing(fmt::format("'{}'{}", current_->opcode, parts.done() ? "" : fmt::format(" ({})", parts.rest())));
        return;
    }
    std::size_t next = 2;
    if (!want(2, 3) || !take_policy(policy, next)) {
        return;
    }
    const ptx::Operand& where = current_->operands[is_store ? 0 : 1];
    const ptx::Operand& what = current_->operands[is_store ? 1 : 0];
    const auto at = address(where, space);
    if (!at) {
        return;
    }
    Instruction instruction = begin();
    instruction.writes = is_store;
    instruction.spins = is_volatile || ordered;
    instruction.fences = ordered;
    instruction.vector = static_cast<std::uint8_t>(vector.empty() ? 1 : vector[1] - '0');
    instruction.access_bytes = bytes_of(type) * instruction.vector;
    instruction.cost = is_store ? cost::kStore : load_cost(space);
    set_address(instruction, *at, space);

    std::vector<const ptx::Operand*> elements;
    if (vector.empty()) {
        elements.push_back(&what);
    } else if (what.kind == Kind::vector && what.parts.size() == instruction.vector) {
        for (const ptx::Operand& part : what.parts) {
            elements.push_back(&part);
        }
    } else {
        malformed(fmt::format("'{}' with '{}'", current_->opcode, what.text));
        return;
    }
    bool wide = false;
    std::vector<Place> places;
    std::vector<Target> targets;
    if (!vector_rows(elements, type, is_store, wide, places, targets)) {
        return;
    }
    instruction.list = builder_.places(places);
    instruction.handler = is_store ? store_handler(type, wide) : load_handler(type, wide);
    emit(instruction);
    for (const Target& one : targets) {
        finish(one);
    }
}

void FunctionDecoder::decode_atomic(bool is_reduction) {
    Parts parts(current_->parts);
    AddressSpace space = take_space(parts).value_or(AddressSpace::generic);
    parts.take_any({"relaxed", "acquire", "release", "acq_rel"});  // all are sequentially consistent here
    for (const std::string_view part : kScopes) {
        parts.take(part);
    }
    const std::string_view operation =
        parts.take_any({"add", "min", "max", "inc", "dec", "and", "or", "xor", "exch", "cas"});
    parts.take("noftz");
    const bool policy = parts.take("L2::cache_hint");
    const Type type = parts.take_type();
    const Handler handler = atomic_handler(operation, type);
    if (handler == nullptr || !parts.done() || (is_reduction && (operation == "exch" || operation == "cas"))) {
        missing(fmt::format("'{}'{}", current_->opcode, parts.done() ? "" : fmt::format(" ({})", parts.rest())));
        return;
    }
    const bool swap = operation == "cas";
    const std::size_t first = is_reduction ? 0 : 1;
    std::size_t next = first + (swap ? 3 : 2);
    if (!want(next, next + 1) || !take_policy(policy, next)) {
        return;
    }
    const auto at = address(current_->operands[first], space);
    if (!at) {
        return;
    }
    if (at->frame_relative || space == AddressSpace::local || space == AddressSpace::parameter) {
        malformed(fmt::format("'{}' on memory that is neither global nor shared", current_->opcode));
        return;
    }
    Instruction instruction = begin();
    instruction.handler = handler;
    instruction.writes = true;
    instruction.spins = swap || operation == "exch";  // how locks are taken
    instruction.access_bytes = bytes_of(type);
    instruction.cost =
        space == AddressSpace::shared || space == AddressSpace::cluster ? cost::kSharedAtomic : cost::kGlobalAtomic;
    set_address(instruction, *at, space);
    instruction.sources[1] = source(current_->operands[first + 1], type);
    instruction.sources[2] = swap ? source(current_->operands[first + 2], type) : instruction.sources[1];
    if (is_reduction) {
        instruction.destination = layout_.row(type);
        emit(instruction);
        return;
    }
    const Target result = target(current_->operands[0], type);
    instruction.destination = result.place;
    emit(instruction);
    finish(result);
}

}  // namespace egpu::simulated
