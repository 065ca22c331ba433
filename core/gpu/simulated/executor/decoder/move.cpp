// SPDX-License-Identifier: Apache-2.0
// mov in all its forms, and the conversions of addresses (PTX ISA 9.0, sections 9.7.9.2, 9.7.9.20 to 9.7.9.22).
#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "gpu/simulated/executor/decoder/function_decoder.hpp"
#include "gpu/simulated/executor/machine/cost.hpp"
#include "gpu/simulated/executor/operations/lane.hpp"

namespace egpu::simulated {
namespace {

using Kind = ptx::Operand::Kind;

struct Same {
    template <typename T>
    static T apply(T value) {
        return value;
    }
};

bool copy_predicate(Context& context, const Instruction& instruction, Mask mask) {
    const Mask value = mask_at(context, instruction.sources[0]) ^ (instruction.source_negated ? kAllLanes : 0);
    Mask& destination = mask_at(context, instruction.destination);
    destination = (destination & ~mask) | (value & mask);
    return true;
}

template <typename From, typename To>
struct Resize {
    static To apply(From value) { return static_cast<To>(value); }
};

/// Elements of Bits bits joined to one value, the first lowest. `variant`: bits of an element.
template <typename Row>
bool pack(Context& context, const Instruction& instruction, Mask mask) {
    const Place* const places = context.program->places.data() + instruction.list;
    Row* const destination = row_at<Row>(context, instruction.destination);
    const std::uint32_t bits = instruction.variant;
    const std::uint64_t low = (std::uint64_t{1} << bits) - 1;
    Row joined[kLanes] = {};
    for (unsigned element = 0; element < instruction.vector; ++element) {
        const auto* const from = row_at<const std::uint32_t>(context, places[element]);
        for (unsigned lane = 0; lane < kLanes; ++lane) {
            joined[lane] = static_cast<Row>(joined[lane] | static_cast<Row>((from[lane] & low) << (element * bits)));
        }
    }
    for_lanes(mask, [&](unsigned lane) { destination[lane] = joined[lane]; });
    return true;
}

template <typename Row>
bool unpack(Context& context, const Instruction& instruction, Mask mask) {
    const Place* const places = context.program->places.data() + instruction.list;
    const std::uint32_t bits = instruction.variant;
    const auto low = static_cast<std::uint32_t>((std::uint64_t{1} << bits) - 1);
    Row values[kLanes];  // a copy: an element may be the source register itself
    const Row* const from = row_at<const Row>(context, instruction.sources[0]);
    std::copy(from, from + kLanes, values);
    for (unsigned element = 0; element < instruction.vector; ++element) {
        auto* const to = row_at<std::uint32_t>(context, places[element]);
        for_lanes(mask, [&](unsigned lane) {
            to[lane] = static_cast<std::uint32_t>(values[lane] >> (element * bits)) & low;
        });
    }
    return true;
}

Type element_type(std::uint32_t bits) {
    switch (bits) {
        case 8:
            return Type::b8;
        case 16:
            return Type::b16;
        case 32:
            return Type::b32;
        default:
            return Type::none;
    }
}

}  // namespace

Handler copy_handler(Type type) {
    if (type == Type::pred) {
        return copy_predicate;
    }
    return bits_of(type) == 64 ? each<Same, std::uint64_t, std::uint64_t> : each<Same, std::uint32_t, std::uint32_t>;
}

Handler resize_handler(bool from_wide, bool to_wide, bool sign) {
    if (from_wide) {
        return to_wide ? copy_handler(Type::b64)
                       : each<Resize<std::uint64_t, std::uint32_t>, std::uint32_t, std::uint64_t>;
    }
    if (!to_wide) {
        return copy_handler(Type::b32);
    }
    return sign ? each<Resize<std::int32_t, std::int64_t>, std::int64_t, std::int32_t>
                : each<Resize<std::uint32_t, std::uint64_t>, std::uint64_t, std::uint32_t>;
}

void FunctionDecoder::decode_pack(const ptx::Operand& destination, const ptx::Operand& vector, Type type) {
    const auto count = static_cast<std::uint32_t>(vector.parts.size());
    const Type element = count == 0 ? Type::none : element_type(bits_of(type) / count);
    if (element == Type::none || bits_of(element) * count != bits_of(type)) {
        missing(fmt::format("'{}' of {} elements", current_->opcode, count));
        return;
    }
    std::vector<Place> places;
    for (const ptx::Operand& part : vector.parts) {
        places.push_back(source(part, element));
    }
    Instruction instruction = begin();
    instruction.handler = bits_of(type) == 64 ? pack<std::uint64_t> : pack<std::uint32_t>;
    instruction.vector = static_cast<std::uint8_t>(count);
    instruction.variant = static_cast<std::uint8_t>(bits_of(element));
    instruction.list = builder_.places(places);
    const Target result = target(destination, type);
    instruction.destination = result.place;
    emit(instruction);
    finish(result);
}

void FunctionDecoder::decode_unpack(const ptx::Operand& vector, const ptx::Operand& from, Type type) {
    const auto count = static_cast<std::uint32_t>(vector.parts.size());
    const Type element = count == 0 ? Type::none : element_type(bits_of(type) / count);
    if (element == Type::none || bits_of(element) * count != bits_of(type)) {
        missing(fmt::format("'{}' of {} elements", current_->opcode, count));
        return;
    }
    Instruction instruction = begin();
    instruction.handler = bits_of(type) == 64 ? unpack<std::uint64_t> : unpack<std::uint32_t>;
    instruction.sources[0] = source(from, type);
    instruction.vector = static_cast<std::uint8_t>(count);
    instruction.variant = static_cast<std::uint8_t>(bits_of(element));
    std::vector<Place> places;
    std::vector<Target> targets;
    for (const ptx::Operand& part : vector.parts) {
        targets.push_back(target(part, element));
        places.push_back(targets.back().place);
    }
    instruction.list = builder_.places(places);
    emit(instruction);
    for (const Target& one : targets) {
        finish(one);
    }
}

void FunctionDecoder::decode_move() {
    Parts parts(current_->parts);
    const Type type = parts.take_type();
    if (type == Type::none || !parts.done()) {
        missing(fmt::format("'{}'", current_->opcode));
        return;
    }
    if (!want(2, 2)) {
        return;
    }
    const ptx::Operand& to = current_->operands[0];
    const ptx::Operand& from = current_->operands[1];
    if (to.kind == Kind::vector) {
        decode_unpack(to, from, type);
        return;
    }
    if (from.kind == Kind::vector) {
        decode_pack(to, from, type);
        return;
    }
    Instruction instruction = begin();
    instruction.handler = copy_handler(type);
    if (type == Type::pred) {
        instruction.sources[0] = predicate(from, instruction.source_negated);
        instruction.destination = predicate_target(to);
        emit(instruction);
        return;
    }
    instruction.sources[0] = source(from, type);
    const Target result = target(to, type);
    instruction.destination = result.place;
    emit(instruction);
    finish(result);
}

void FunctionDecoder::decode_cvta() {
    Parts parts(current_->parts);
    const bool to_space = parts.take("to");
    AddressSpace space = take_space(parts).value_or(AddressSpace::generic);
    const Type type = parts.take_type();
    if (space == AddressSpace::generic || bits_of(type) < 32 || !parts.done() || !want(2, 2)) {
        missing(fmt::format("'{}'", current_->opcode));
        return;
    }
    if (space == AddressSpace::parameter && !is_kernel_) {
        space = AddressSpace::local;
    }
    Instruction instruction = begin();
    const bool wide = bits_of(type) == 64;
    instruction.handler = to_space ? from_generic_handler(space, wide) : to_generic_handler(space, wide);
    instruction.sources[0] = source(current_->operands[1], type);
    const Target result = target(current_->operands[0], type);
    instruction.destination = result.place;
    emit(instruction);
    finish(result);
}

void FunctionDecoder::decode_is_space() {
    Parts parts(current_->parts);
    const auto space = take_space(parts);
    if (!space || is_space_handler(*space) == nullptr || !parts.done() || !want(2, 2)) {
        missing(fmt::format("'{}'", current_->opcode));
        return;
    }
    Instruction instruction = begin();
    instruction.handler = is_space_handler(*space);
    const Symbol* const found = register_of(current_->operands[1]);
    const bool wide = found == nullptr || bits_of(found->type) == 64;
    instruction.sources[0] = narrowed(source(current_->operands[1], wide ? Type::b64 : Type::b32), wide, true, false);
    instruction.destination = predicate_target(current_->operands[0]);
    emit(instruction);
}

}  // namespace egpu::simulated
