// SPDX-License-Identifier: Apache-2.0
// shfl, vote, match, redux, elect, activemask: operands.
#include <fmt/format.h>

#include "gpu/simulated/executor/decoder/function_decoder.hpp"
#include "gpu/simulated/executor/machine/cost.hpp"
#include "gpu/simulated/executor/operations/collective.hpp"

namespace egpu::simulated {
namespace {
using Kind = ptx::Operand::Kind;
}

/// Without .sync (before sm_70) the lanes that are active take part.
void FunctionDecoder::finish_collective(Instruction& instruction, const Parts& parts, const ptx::Operand* members) {
    if (instruction.gather == nullptr || !parts.done()) {
        missing(fmt::format("'{}'", current_->opcode));
        return;
    }
    instruction.control = Control::collective;
    instruction.cost = cost::kCollective;
    instruction.implicit_members = members == nullptr;
    if (members != nullptr) {
        instruction.sources[3] = source(*members, Type::b32);
    }
    emit(instruction);
}

void FunctionDecoder::decode_shuffle(Parts& parts) {
    const bool sync = parts.take("sync");
    const Collective how = shuffle(parts.take_any({"up", "down", "bfly", "idx"}));
    const std::size_t count = sync ? 5 : 4;
    if (parts.take_type() != Type::b32 || !want(count, count)) {
        missing(fmt::format("'{}'", current_->opcode));
        return;
    }
    Instruction instruction = begin();
    instruction.gather = how.gather;
    instruction.scatter = how.scatter;
    const ptx::Operand& to = current_->operands[0];
    const bool pair = to.kind == Kind::pair && to.parts.size() == 2;
    for (unsigned i = 0; i < 3; ++i) {
        instruction.sources[i] = source(current_->operands[1 + i], Type::b32);
    }
    const Target result = target(pair ? to.parts[0] : to, Type::b32);
    instruction.destination = result.place;
    if (pair) {
        instruction.has_second = true;
        instruction.second_destination = predicate_target(to.parts[1]);
    }
    finish_collective(instruction, parts, sync ? &current_->operands[4] : nullptr);
    finish(result);
}

void FunctionDecoder::decode_vote(Parts& parts) {
    const bool sync = parts.take("sync");
    const std::string_view mode = parts.take_any({"all", "any", "uni", "ballot"});
    const Type type = parts.take_type();
    const std::size_t count = sync ? 3 : 2;
    if (type != (mode == "ballot" ? Type::b32 : Type::pred) || !want(count, count)) {
        missing(fmt::format("'{}'", current_->opcode));
        return;
    }
    Instruction instruction = begin();
    const Collective how = vote(mode);
    instruction.gather = how.gather;
    instruction.scatter = how.scatter;
    instruction.sources[0] = predicate(current_->operands[1], instruction.source_negated);
    Target result;
    if (type == Type::pred) {
        instruction.destination = predicate_target(current_->operands[0]);
    } else {
        result = target(current_->operands[0], type);
        instruction.destination = result.place;
    }
    finish_collective(instruction, parts, sync ? &current_->operands[2] : nullptr);
    finish(result);
}

void FunctionDecoder::decode_match(Parts& parts) {
    const bool all = parts.take("all");
    if ((!all && !parts.take("any")) || !parts.take("sync") || !want(3, 3)) {
        missing(fmt::format("'{}'", current_->opcode));
        return;
    }
    const Type type = parts.take_type();
    const Collective how = match(all, type);
    Instruction instruction = begin();
    instruction.gather = how.gather;
    instruction.scatter = how.scatter;
    const ptx::Operand& to = current_->operands[0];
    const bool pair = all && to.kind == Kind::pair && to.parts.size() == 2;
    instruction.sources[0] = source(current_->operands[1], type);
    const Target result = target(pair ? to.parts[0] : to, Type::b32);
    instruction.destination = result.place;
    if (pair) {
        instruction.has_second = true;
        instruction.second_destination = predicate_target(to.parts[1]);
    }
    finish_collective(instruction, parts, &current_->operands[2]);
    finish(result);
}

void FunctionDecoder::decode_reduction(Parts& parts) {
    const std::string_view operation = parts.take_any({"add", "min", "max", "and", "or", "xor"});
    const Type type = parts.take_type();
    const bool absolute = type == Type::f32 && parts.take("abs");
    const bool keeps_nan = type == Type::f32 && parts.take("NaN");
    if (!parts.take("sync") || !want(3, 3)) {
        missing(fmt::format("'{}'", current_->opcode));
        return;
    }
    const Collective how =
        type == Type::f32 ? float_reduction(operation, absolute, keeps_nan) : reduction(operation, type);
    Instruction instruction = begin();
    instruction.gather = how.gather;
    instruction.scatter = how.scatter;
    instruction.sources[0] = source(current_->operands[1], type);
    const Target result = target(current_->operands[0], type);
    instruction.destination = result.place;
    finish_collective(instruction, parts, &current_->operands[2]);
    finish(result);
}

void FunctionDecoder::decode_elect(Parts& parts) {
    if (!parts.take("sync") || !want(2, 2)) {
        missing(fmt::format("'{}'", current_->opcode));
        return;
    }
    const Collective how = election();
    Instruction instruction = begin();
    instruction.gather = how.gather;
    instruction.scatter = how.scatter;
    const ptx::Operand& to = current_->operands[0];
    if (to.kind != Kind::pair || to.parts.size() != 2) {
        malformed("elect.sync without a predicate");
        return;
    }
    const Target result = target(to.parts[0], Type::b32);
    instruction.destination = result.place;
    instruction.has_second = true;
    instruction.second_destination = predicate_target(to.parts[1]);
    finish_collective(instruction, parts, &current_->operands[1]);
    finish(result);
}

void FunctionDecoder::decode_activemask(Parts& parts) {
    if (parts.take_type() != Type::b32 || !parts.done() || !want(1, 1)) {
        missing(fmt::format("'{}'", current_->opcode));
        return;
    }
    Instruction instruction = begin();
    instruction.handler = activemask_handler();
    const Target result = target(current_->operands[0], Type::b32);
    instruction.destination = result.place;
    emit(instruction);
    finish(result);
}

void FunctionDecoder::decode_collective() {
    Parts parts(current_->parts);
    const std::string_view root = parts.root();
    if (root == "shfl") {
        decode_shuffle(parts);
    } else if (root == "vote") {
        decode_vote(parts);
    } else if (root == "match") {
        decode_match(parts);
    } else if (root == "redux") {
        decode_reduction(parts);
    } else if (root == "elect") {
        decode_elect(parts);
    } else {
        decode_activemask(parts);
    }
}

}  // namespace egpu::simulated
