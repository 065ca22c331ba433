// SPDX-License-Identifier: Apache-2.0
// Branches, calls, returns, barriers of a block (PTX ISA 9.0, sections 9.7.12 and 9.7.13).
#include <fmt/format.h>

#include "gpu/simulated/executor/decoder/function_decoder.hpp"
#include "gpu/simulated/executor/machine/cost.hpp"

namespace egpu::simulated {
namespace {

using Kind = ptx::Operand::Kind;

Builtin builtin_of(std::string_view name) {
    if (name == "vprintf") {
        return Builtin::vprintf;
    }
    if (name == "malloc") {
        return Builtin::malloc;
    }
    if (name == "free") {
        return Builtin::free;
    }
    return name == "__assertfail" ? Builtin::assertfail : Builtin::none;
}

/// The names in ".branchtargets L1, L2;".
std::vector<std::string_view> names_in(std::string_view text) {
    std::vector<std::string_view> names;
    const std::size_t at = text.find("branchtargets");
    if (at == std::string_view::npos) {
        return names;
    }
    text.remove_prefix(at + std::string_view("branchtargets").size());
    while (!text.empty()) {
        const std::size_t begin = text.find_first_not_of(" \t\r\n,;");
        if (begin == std::string_view::npos) {
            break;
        }
        const std::size_t end = std::min(text.find_first_of(" \t\r\n,;", begin), text.size());
        names.push_back(text.substr(begin, end - begin));
        text.remove_prefix(end);
    }
    return names;
}

}  // namespace

void FunctionDecoder::decode_simple(Control control, std::uint16_t price) {
    Instruction instruction = begin();
    instruction.control = control;
    instruction.cost = price;
    const std::string_view root = current_->parts.front();
    if (root == "membar" || root == "fence") {
        instruction.handler = [](Context&, const Instruction&, Mask) {
            __atomic_thread_fence(__ATOMIC_SEQ_CST);
            return true;
        };
    } else if (control == Control::none) {
        instruction.handler = [](Context&, const Instruction&, Mask) { return true; };
    }
    emit(instruction);
}

std::optional<std::uint32_t> FunctionDecoder::label_of(const ptx::Operand& operand) {
    const Symbol* const found = operand.kind == Kind::identifier ? symbol(operand.text) : nullptr;
    if (found == nullptr || found->kind != Symbol::Kind::label) {
        malformed(fmt::format("'{}' is no label", operand.text));
        return std::nullopt;
    }
    return found->number;
}

void FunctionDecoder::decode_branch() {
    Parts parts(current_->parts);
    parts.take("uni");
    if (!parts.done() || !want(1, 1)) {
        missing(fmt::format("'{}'", current_->opcode));
        return;
    }
    const auto label = label_of(current_->operands[0]);
    if (!label) {
        return;
    }
    Instruction instruction = begin();
    instruction.control = Control::branch;
    instruction.target = *label;
    instruction.cost = cost::kControl;
    branches_.push_back(emit(instruction));
}

void FunctionDecoder::decode_branch_indexed() {
    Parts parts(current_->parts);
    parts.take("uni");
    if (!parts.take("idx") || !parts.done() || !want(2, 2)) {
        missing(fmt::format("'{}'", current_->opcode));
        return;
    }
    const Symbol* const table = symbol(current_->operands[1].text);
    if (table == nullptr || table->kind != Symbol::Kind::targets) {
        malformed(fmt::format("'{}' is no list of branch targets", current_->operands[1].text));
        return;
    }
    Instruction instruction = begin();
    instruction.control = Control::branch_indexed;
    instruction.cost = cost::kControl;
    instruction.sources[0] = source(current_->operands[0], Type::u32);
    auto& targets = builder_.program().branch_targets;
    instruction.list = static_cast<std::uint32_t>(targets.size());
    for (const std::string_view name : names_in(table->directive->text)) {
        const Symbol* const label = symbol(name);
        if (label == nullptr || label->kind != Symbol::Kind::label) {
            malformed(fmt::format("'{}' is no label", name));
            return;
        }
        targets.push_back(label->number);
        ++instruction.offset;
    }
    tables_.emplace_back(instruction.list, static_cast<std::uint32_t>(instruction.offset));
    emit(instruction);
}

Passed FunctionDecoder::passed(const ptx::Operand& operand) {
    Passed result;
    const Symbol* const found = operand.kind == Kind::identifier ? symbol(operand.text) : nullptr;
    if (found != nullptr && found->kind == Symbol::Kind::frame) {
        result.offset = static_cast<std::uint32_t>(found->offset);
        result.bytes = static_cast<std::uint32_t>(found->bytes);
        return result;
    }
    result.in_memory = false;
    if (found != nullptr && found->kind == Symbol::Kind::reg) {
        result.type = found->type;
        result.place = found->place;
    } else if (operand.kind == Kind::identifier && operand.text == "_") {
        result.type = Type::b64;
        result.place = layout_.row(Type::b64);
    } else {
        result.type = Type::b64;
        result.place = source(operand, Type::b64);
    }
    return result;
}

/// call{.uni} (results), function, (arguments){, prototype}; each list may be missing.
void FunctionDecoder::decode_call() {
    const auto& operands = current_->operands;
    std::size_t at = 0;
    CallSite site;
    const auto take_list = [&](std::vector<Passed>& list) {
        if (at < operands.size() && operands[at].kind == Kind::list) {
            for (const ptx::Operand& part : operands[at].parts) {
                list.push_back(passed(part));
            }
            ++at;
        }
    };
    take_list(site.results);
    if (at >= operands.size() || operands[at].kind != Kind::identifier) {
        malformed("a call without a function");
        return;
    }
    const ptx::Operand& callee = operands[at++];
    take_list(site.arguments);
    if (failed()) {
        return;
    }
    site.callee = callee.text;
    Instruction instruction = begin();
    instruction.cost = cost::kControl;
    if (const Symbol* const found = register_of(callee)) {
        if (bits_of(found->type) != 64) {
            malformed(fmt::format("'{}' holds no function address", callee.text));
            return;
        }
        instruction.control = Control::call_indirect;
        site.target = found->place;
        builder_.uses_indirect_calls = true;
    } else {
        const ModuleSymbols& symbols = builder_.symbols();
        const auto index = symbols.function_index.find(callee.text);
        const bool defined = index != symbols.function_index.end() && symbols.functions[index->second]->body != nullptr;
        site.builtin = defined ? Builtin::none : builtin_of(callee.text);
        if (site.builtin != Builtin::none) {
            instruction.control = Control::call_builtin;
        } else if (defined) {
            instruction.control = Control::call;
            site.function = builder_.function(index->second);
        } else {
            missing(fmt::format("the function '{}', which the module declares only", callee.text));
            return;
        }
    }
    auto& calls = builder_.program().calls;
    instruction.list = static_cast<std::uint32_t>(calls.size());
    calls.push_back(std::move(site));
    emit(instruction);
}

void FunctionDecoder::decode_leave(Control control) {
    Instruction instruction = begin();
    instruction.control = control;
    instruction.cost = cost::kControl;
    if (control == Control::trap) {
        instruction.variant = current_->parts.front() == "brkpt" ? 1 : 0;
    }
    emit(instruction);
}

/// bar.sync a{, b}; bar.arrive a, b; bar.red.popc.u32 d, a{, b}, p; bar.warp.sync m; the same as barrier...
void FunctionDecoder::decode_barrier() {
    Parts parts(current_->parts);
    if (parts.root() == "barrier" && parts.take("cluster")) {
        decode_cluster_barrier(parts);
        return;
    }
    if (parts.take("warp")) {
        if (!parts.take("sync") || !parts.done() || !want(1, 1)) {
            missing(fmt::format("'{}'", current_->opcode));
            return;
        }
        Instruction instruction = begin();
        instruction.control = Control::collective;
        instruction.cost = cost::kCollective;
        instruction.sources[3] = source(current_->operands[0], Type::b32);
        emit(instruction);
        return;
    }
    parts.take("cta");
    Instruction instruction = begin();
    instruction.control = Control::barrier;
    instruction.cost = cost::kBarrier;
    instruction.aligned = current_->parts.front() == "bar" || parts.take("aligned");
    const bool sync = parts.take("sync");
    const bool arrive = !sync && parts.take("arrive");
    const bool reduce = !sync && !arrive && parts.take("red");
    std::size_t first = 0, last = current_->operands.size();
    if (reduce) {
        const std::string_view how = parts.take_any({"popc", "and", "or"});
        const Type type = parts.take_type();
        if (how.empty() || type != (how == "popc" ? Type::u32 : Type::pred) || !want(3, 4)) {
            missing(fmt::format("'{}'", current_->opcode));
            return;
        }
        instruction.variant = static_cast<std::uint8_t>(how == "popc"  ? BarrierAction::reduce_popc
                                                        : how == "and" ? BarrierAction::reduce_and
                                                                       : BarrierAction::reduce_or);
        if (how == "popc") {
            const Target result = target(current_->operands[0], Type::u32);
            if (result.extend) {
                missing(fmt::format("'{}' into a wide register", current_->opcode));
            }
            instruction.destination = result.place;
        } else {
            instruction.destination = predicate_target(current_->operands[0]);
        }
        instruction.sources[2] = predicate(current_->operands.back(), instruction.source_negated);
        first = 1;
        --last;
    } else {
        instruction.variant = static_cast<std::uint8_t>(sync ? BarrierAction::sync : BarrierAction::arrive);
    }
    if ((!sync && !arrive && !reduce) || !parts.done() || last < first + (arrive ? 2 : 1) || last > first + 2) {
        missing(fmt::format("'{}'", current_->opcode));
        return;
    }
    instruction.sources[0] = source(current_->operands[first], Type::u32);
    instruction.has_second = last == first + 2;  // a count of threads
    if (instruction.has_second) {
        instruction.sources[1] = source(current_->operands[first + 1], Type::u32);
    }
    emit(instruction);
}

}  // namespace egpu::simulated
