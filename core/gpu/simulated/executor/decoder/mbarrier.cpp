// SPDX-License-Identifier: Apache-2.0
// mbarrier and the cluster: operands (PTX ISA 9.0, sections 9.7.13.4, 9.7.13.15, 9.7.9.21 to 9.7.9.23).
#include <fmt/format.h>

#include "gpu/simulated/executor/decoder/function_decoder.hpp"
#include "gpu/simulated/executor/machine/cost.hpp"
#include "gpu/simulated/executor/operations/mbarrier.hpp"

namespace egpu::simulated {
namespace {
using Kind = ptx::Operand::Kind;
}

/// A row of generic addresses for an operand in a space.
Place FunctionDecoder::generic_address(const ptx::Operand& operand, AddressSpace space) {
    const auto at = address(operand, space);
    if (!at) {
        return {};
    }
    Instruction instruction = begin();
    instruction.handler = generic_address_handler(space, at->wide, at->frame_relative);
    instruction.sources[0] = at->base;
    instruction.offset = at->offset;
    instruction.destination = layout_.row(Type::b64);
    instruction.cost = 0;
    emit(instruction);
    return instruction.destination;
}

/// .shared::cta of an mbarrier; the generic space where none is named.
AddressSpace FunctionDecoder::take_object_space(Parts& parts) {
    const auto space = take_space(parts);
    if (space && *space != AddressSpace::shared && *space != AddressSpace::cluster) {
        missing(fmt::format("'{}' outside of shared memory", current_->opcode));
    }
    return space.value_or(AddressSpace::generic);
}

/// mbarrier.arrive{_drop}{.expect_tx|.noComplete} state, [a]{, count or bytes}; `_` instead of the state.
void FunctionDecoder::decode_arrive(Parts& parts, bool drops, AddressSpace space) {
    const bool expects = parts.take("expect_tx");
    const bool no_complete = parts.take("noComplete");
    const std::size_t least = expects || no_complete ? 3 : 2;
    if (!parts.done() || !want(least, 3)) {
        missing(fmt::format("'{}'", current_->opcode));
        return;
    }
    Instruction instruction = begin();
    instruction.cost = cost::kSharedAtomic;
    instruction.handler = mbarrier_arrive_handler();
    instruction.variant = static_cast<std::uint8_t>((drops ? kArriveDrops : 0) | (no_complete ? kArriveNoComplete : 0) |
                                                    (expects ? kArriveExpects : 0));
    instruction.sources[0] = generic_address(current_->operands[1], space);
    instruction.sources[1] =
        current_->operands.size() == 3 ? source(current_->operands[2], Type::u32) : builder_.constant(1, false);
    const Target state = target(current_->operands[0], Type::b64);
    instruction.destination = state.place;
    emit(instruction);
    finish(state);
}

/// mbarrier.test_wait{.parity} p, [a], state or parity; try_wait may have a time limit, which is a hint.
void FunctionDecoder::decode_mbarrier_wait(Parts& parts, bool tries, AddressSpace space) {
    const bool parity = parts.take("parity");
    if (!parts.done() || !want(3, tries ? 4 : 3)) {
        missing(fmt::format("'{}'", current_->opcode));
        return;
    }
    Instruction instruction = begin();
    instruction.control = Control::wait;
    instruction.cost = cost::kSharedAtomic;
    instruction.handler = mbarrier_test_handler(parity);
    instruction.variant = tries ? 1 : 0;
    instruction.sources[0] = generic_address(current_->operands[1], space);
    instruction.sources[1] = source(current_->operands[2], parity ? Type::u32 : Type::b64);
    if (current_->operands.size() == 4) {
        source(current_->operands[3], Type::u32);
    }
    instruction.destination = predicate_target(current_->operands[0]);
    emit(instruction);
}

void FunctionDecoder::decode_mbarrier() {
    Parts parts(current_->parts);
    const bool drops = parts.take("arrive_drop");
    const bool arrives = drops || parts.take("arrive");
    const std::string_view action =
        arrives
            ? "arrive"
            : parts.take_any({"init", "inval", "expect_tx", "complete_tx", "test_wait", "try_wait", "pending_count"});
    if (parts.take_type() != Type::b64) {
        missing(fmt::format("'{}'", current_->opcode));
        return;
    }
    if (action == "pending_count") {
        decode_pending_count(parts);
        return;
    }
    parts.take_any({"acquire", "release", "relaxed"});
    parts.take_any({"cta", "cluster"});
    const AddressSpace space = take_object_space(parts);
    if (failed()) {
        return;
    }
    if (action == "arrive") {
        decode_arrive(parts, drops, space);
    } else if (action == "test_wait" || action == "try_wait") {
        decode_mbarrier_wait(parts, action == "try_wait", space);
    } else {
        decode_mbarrier_change(parts, action, space);
    }
}

/// init [a], count; inval [a]; expect_tx [a], bytes; complete_tx [a], bytes.
void FunctionDecoder::decode_mbarrier_change(Parts& parts, std::string_view action, AddressSpace space) {
    const std::size_t count = action == "inval" ? 1 : 2;
    if (action.empty() || !parts.done() || !want(count, count)) {
        missing(fmt::format("'{}'", current_->opcode));
        return;
    }
    Instruction instruction = begin();
    instruction.cost = cost::kSharedAtomic;
    instruction.handler = action == "init"    ? mbarrier_init_handler()
                          : action == "inval" ? mbarrier_invalidate_handler()
                                              : mbarrier_transaction_handler(action == "expect_tx");
    instruction.sources[0] = generic_address(current_->operands[0], space);
    if (count == 2) {
        instruction.sources[1] = source(current_->operands[1], Type::u32);
    }
    emit(instruction);
}

void FunctionDecoder::decode_pending_count(const Parts& parts) {
    if (!parts.done() || !want(2, 2)) {
        missing(fmt::format("'{}'", current_->opcode));
        return;
    }
    Instruction instruction = begin();
    instruction.handler = mbarrier_pending_handler();
    instruction.sources[0] = source(current_->operands[1], Type::b64);
    const Target result = target(current_->operands[0], Type::u32);
    instruction.destination = result.place;
    emit(instruction);
    finish(result);
}

/// barrier.cluster.arrive{.release|.relaxed}{.aligned}; barrier.cluster.wait{.acquire}{.aligned}.
void FunctionDecoder::decode_cluster_barrier(Parts& parts) {
    const bool arrives = parts.take("arrive");
    const bool waits = !arrives && parts.take("wait");
    parts.take_any({"release", "relaxed", "acquire"});
    Instruction instruction = begin();
    instruction.aligned = parts.take("aligned");
    if ((!arrives && !waits) || !parts.done() || !want(0, 0)) {
        missing(fmt::format("'{}'", current_->opcode));
        return;
    }
    instruction.control = Control::cluster_barrier;
    instruction.variant = arrives ? 0 : 1;
    instruction.cost = cost::kBarrier;
    emit(instruction);
}

/// mapa{.shared::cluster}.u32|u64 d, a, rank: `a` is an address register, or a variable with an offset.
/// getctarank{.shared::cluster}.u32|u64 d, a.
void FunctionDecoder::decode_map_address() {
    Parts parts(current_->parts);
    const bool maps = parts.root() == "mapa";
    const bool generic = !parts.take("shared::cluster");
    const Type type = parts.take_type();
    const bool wide = bits_of(type) == 64;
    const std::size_t count = maps ? 3 : 2;
    if ((type != Type::u32 && type != Type::u64) || (generic && !wide) || !parts.done() || !want(count, count)) {
        missing(fmt::format("'{}'", current_->opcode));
        return;
    }
    Instruction instruction = begin();
    instruction.handler = maps ? map_address_handler(generic, wide) : rank_of_address_handler(generic, wide);
    instruction.sources[0] = source(current_->operands[1], type);
    if (maps) {
        instruction.sources[1] = source(current_->operands[2], Type::u32);
    }
    const Target result = target(current_->operands[0], maps ? type : Type::u32);
    instruction.destination = result.place;
    emit(instruction);
    finish(result);
}

}  // namespace egpu::simulated
