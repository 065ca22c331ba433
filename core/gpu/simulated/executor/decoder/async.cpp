// SPDX-License-Identifier: Apache-2.0
// Asynchronous copies and stores: operands (PTX ISA 9.0, sections 9.7.9.25 and 9.7.9.12).
#include <fmt/format.h>

#include "gpu/simulated/executor/decoder/function_decoder.hpp"
#include "gpu/simulated/executor/machine/cost.hpp"
#include "gpu/simulated/executor/operations/async_copy.hpp"
#include "gpu/simulated/executor/operations/mbarrier.hpp"

namespace egpu::simulated {
namespace {

using Kind = ptx::Operand::Kind;

/// What a copy is told about caches, without an operand of its own.
void take_prefetch(Parts& parts) {
    parts.take_any({"L2::64B", "L2::128B", "L2::256B"});
}

}  // namespace

/// The rest of the operands is a cache policy, if the opcode announces one. False: something else is there.
bool FunctionDecoder::take_policy(bool announced, std::size_t& next) {
    if (announced) {
        if (next >= current_->operands.size()) {
            malformed(fmt::format("'{}' without its cache policy", current_->opcode));
            return false;
        }
        source(current_->operands[next++], Type::b64);
    }
    if (next != current_->operands.size()) {
        malformed(fmt::format("'{}' with {} operands", current_->opcode, current_->operands.size()));
    }
    return !failed();
}

/// cp.async{.bulk}.commit_group; wait_group{.read} n; wait_all; mbarrier.arrive{.noinc}: all copies are done already.
bool FunctionDecoder::decode_copy_groups(Parts& parts, bool bulk) {
    const bool commits = parts.take("commit_group"), waits = !commits && parts.take("wait_group");
    const bool waits_all = !bulk && parts.take("wait_all");
    if (!commits && !waits && !waits_all) {
        return false;
    }
    if (waits && bulk) {
        parts.take("read");
    }
    const std::size_t count = waits ? 1 : 0;
    if (!parts.done() || !want(count, count)) {
        missing(fmt::format("'{}'", current_->opcode));
        return true;
    }
    if (waits && current_->operands[0].kind != Kind::integer) {
        malformed(fmt::format("'{}' with '{}', which is no constant", current_->opcode, current_->operands[0].text));
        return true;
    }
    decode_simple(Control::none, cost::kArithmetic);
    return true;
}

/// cp.async.mbarrier.arrive{.noinc}{.shared{::cta}}.b64 [a].
void FunctionDecoder::decode_copies_arrive(Parts& parts) {
    const bool counts = parts.take("noinc");
    const AddressSpace space = take_object_space(parts);
    if (!parts.take("arrive") || parts.take_type() != Type::b64 || !parts.done() || !want(1, 1)) {
        missing(fmt::format("'{}'", current_->opcode));
        return;
    }
    Instruction instruction = begin();
    instruction.handler = mbarrier_copies_arrive_handler();
    instruction.cost = cost::kSharedAtomic;
    instruction.variant = counts ? 1 : 0;
    instruction.sources[0] = generic_address(current_->operands[0], space);
    emit(instruction);
}

/// cp.async.ca|cg.shared{::cta}.global [to], [from], 4|8|16{, source bytes or ignore predicate}{, policy}.
void FunctionDecoder::decode_copy(Parts& parts) {
    const std::string_view level = parts.take_any({"ca", "cg"});
    const bool policy = parts.take("L2::cache_hint");
    take_prefetch(parts);
    const bool shared = parts.take("shared") || parts.take("shared::cta");
    const auto& operands = current_->operands;
    if (level.empty() || !shared || !parts.take("global") || !parts.done() || !want(3, 5)) {
        missing(fmt::format("'{}'{}", current_->opcode, parts.done() ? "" : fmt::format(" ({})", parts.rest())));
        return;
    }
    const std::int64_t bytes = operands[2].integer;
    if (operands[2].kind != Kind::integer || (bytes != 16 && (level == "cg" || (bytes != 4 && bytes != 8)))) {
        malformed(fmt::format("'{}' of '{}' bytes", current_->opcode, operands[2].text));
        return;
    }
    Instruction instruction = begin();
    instruction.cost = cost::kStore;
    instruction.access_bytes = static_cast<std::uint32_t>(bytes);
    instruction.sources[0] = generic_address(operands[0], AddressSpace::shared);
    instruction.sources[1] = generic_address(operands[1], AddressSpace::global);
    std::size_t next = 3;
    CopySize size = CopySize::whole;
    if (operands.size() == next + (policy ? 2 : 1)) {
        const Symbol* const found = register_of(operands[next]);
        const bool ignores = operands[next].negated || (found != nullptr && found->type == Type::pred);
        size = ignores ? CopySize::ignore_source : CopySize::source_bytes;
        instruction.sources[2] =
            ignores ? predicate(operands[next], instruction.source_negated) : source(operands[next], Type::u32);
        ++next;
    }
    instruction.handler = copy_handler_of(size);
    if (take_policy(policy, next)) {
        emit(instruction);
    }
}

/// Destination and source of a bulk copy: the spaces stand in that order.
bool FunctionDecoder::take_bulk_spaces(Parts& parts, AddressSpace& to, AddressSpace& from) {
    const auto& names = current_->parts;
    std::vector<AddressSpace> spaces;
    for (const std::string_view name : names) {
        if (name == "global") {
            spaces.push_back(AddressSpace::global);
        } else if (name == "shared::cta") {
            spaces.push_back(AddressSpace::shared);
        } else if (name == "shared::cluster") {
            spaces.push_back(AddressSpace::cluster);
        } else {
            continue;
        }
        parts.take(name);
    }
    if (spaces.size() != 2) {
        return false;
    }
    to = spaces[0];
    from = spaces[1];
    return to == AddressSpace::global
               ? from == AddressSpace::shared
               : from == AddressSpace::global || (to == AddressSpace::cluster && from == AddressSpace::shared);
}

/// cp.async.bulk.DST.SRC.COMPLETION [to], [from], bytes{, [mbarrier]}{, block mask}{, policy}{, byte mask};
/// cp.reduce.async.bulk.DST.SRC.COMPLETION.OP.TYPE the same, without masks.
void FunctionDecoder::decode_bulk(Parts& parts, bool reduces) {
    AddressSpace to = AddressSpace::generic, from = AddressSpace::generic;
    const bool spaces = take_bulk_spaces(parts, to, from);
    const bool completes = parts.take("mbarrier::complete_tx::bytes");
    const bool groups = !completes && parts.take("bulk_group");
    const bool many = !reduces && to == AddressSpace::cluster && parts.take("multicast::cluster");
    const bool policy = parts.take("L2::cache_hint");
    const bool masked = !reduces && to == AddressSpace::global && parts.take("cp_mask");
    Instruction instruction = begin();
    instruction.cost = cost::kStore;
    instruction.handler = bulk_copy_handler();
    if (reduces) {
        const std::string_view operation = parts.take_any({"add", "min", "max", "inc", "dec", "and", "or", "xor"});
        parts.take("noftz");
        const Type type = parts.take_type();
        instruction.handler = bulk_reduce_handler();
        instruction.element = element_reduction(operation, type);
        instruction.access_bytes = bytes_of(type);
    }
    const bool mechanism = to == AddressSpace::global ? groups : completes;
    if (!spaces || !mechanism || !parts.done() || (reduces && instruction.element == nullptr)) {
        missing(fmt::format("'{}'{}", current_->opcode, parts.done() ? "" : fmt::format(" ({})", parts.rest())));
        return;
    }
    const auto& operands = current_->operands;
    if (!want(completes ? 4 : 3, 6)) {
        return;
    }
    instruction.variant = static_cast<std::uint8_t>((completes ? kBulkCompletes : 0) | (many ? kBulkMulticast : 0) |
                                                    (masked ? kBulkMasked : 0));
    instruction.sources[0] = generic_address(operands[0], to);
    instruction.sources[1] = generic_address(operands[1], from);
    instruction.sources[2] = source(operands[2], Type::u32);
    std::size_t next = 3;
    if (completes) {
        instruction.sources[3] = generic_address(
            operands[next++], to == AddressSpace::cluster ? AddressSpace::cluster : AddressSpace::shared);
    }
    const auto take_mask = [&] {
        if (next < operands.size()) {
            instruction.list = builder_.places({source(operands[next++], Type::u16)});
        } else {
            malformed(fmt::format("'{}' without its mask", current_->opcode));
        }
    };
    if (many) {
        take_mask();
    }
    if (masked && policy) {  // the byte mask stands behind the policy
        if (next < operands.size()) {
            source(operands[next++], Type::b64);
        }
        take_mask();
    } else if (masked) {
        take_mask();
    }
    if (take_policy(policy && !masked, next)) {
        emit(instruction);
    }
}

/// cp.async.bulk.prefetch.L2.global [from], bytes.
void FunctionDecoder::decode_bulk_prefetch(Parts& parts) {
    const bool policy = parts.take("L2::cache_hint");
    if (!parts.take("L2") || !parts.take("global") || !parts.done() || !want(2, 3)) {
        missing(fmt::format("'{}'", current_->opcode));
        return;
    }
    Instruction instruction = begin();
    instruction.handler = bulk_prefetch_handler();
    instruction.sources[1] = generic_address(current_->operands[0], AddressSpace::global);
    instruction.sources[2] = source(current_->operands[1], Type::u32);
    std::size_t next = 2;
    if (take_policy(policy, next)) {
        emit(instruction);
    }
}

void FunctionDecoder::decode_async_copy() {
    Parts parts(current_->parts);
    const bool reduces = parts.take("reduce");
    if (!parts.take("async") || parts.take("tensor")) {
        missing(fmt::format("'{}' (tensor maps)", current_->opcode));
        return;
    }
    const bool bulk = parts.take("bulk");
    if (!reduces && decode_copy_groups(parts, bulk)) {
        return;
    }
    if (bulk && !reduces && parts.take("prefetch")) {
        decode_bulk_prefetch(parts);
    } else if (bulk) {
        decode_bulk(parts, reduces);
    } else if (parts.take("mbarrier")) {
        decode_copies_arrive(parts);
    } else {
        decode_copy(parts);
    }
}

/// st.async{.weak}.shared::cluster.mbarrier::complete_tx::bytes{.v2|.v4}.TYPE [a], b, [mbarrier];
/// red.async.relaxed.cluster...OP.TYPE [a], b, [mbarrier].
void FunctionDecoder::decode_async_store(bool reduces) {
    Parts parts(current_->parts);
    parts.take("async");
    parts.take_any({"weak", "relaxed"});
    if (reduces) {
        parts.take("cluster");
    }
    parts.take("shared::cluster");
    const bool completes = parts.take("mbarrier::complete_tx::bytes");
    const std::string_view vector = reduces ? std::string_view{} : parts.take_any({"v2", "v4"});
    const std::string_view operation =
        reduces ? parts.take_any({"add", "min", "max", "inc", "dec", "and", "or", "xor"}) : std::string_view{};
    const Type type = parts.take_type();
    Instruction instruction = begin();
    instruction.element = reduces ? element_reduction(operation, type) : nullptr;
    const bool known = reduces ? instruction.element != nullptr && !is_float(type) : bits_of(type) >= 32;
    if (!completes || !known || type == Type::none || !parts.done() || !want(3, 3)) {
        missing(fmt::format("'{}'", current_->opcode));
        return;
    }
    const ptx::Operand& what = current_->operands[1];
    instruction.handler = async_store_handler();
    instruction.cost = cost::kStore;
    instruction.vector = static_cast<std::uint8_t>(vector.empty() ? 1 : vector[1] - '0');
    instruction.access_bytes = bytes_of(type);
    instruction.sources[0] = generic_address(current_->operands[0], AddressSpace::cluster);
    instruction.sources[1] = generic_address(current_->operands[2], AddressSpace::cluster);
    std::vector<Place> places;
    if (vector.empty()) {
        places.push_back(source(what, type));
    } else if (what.kind == Kind::vector && what.parts.size() == instruction.vector) {
        for (const ptx::Operand& part : what.parts) {
            places.push_back(source(part, type));
        }
    } else {
        malformed(fmt::format("'{}' with '{}'", current_->opcode, what.text));
    }
    instruction.list = builder_.places(places);
    emit(instruction);
}

}  // namespace egpu::simulated
