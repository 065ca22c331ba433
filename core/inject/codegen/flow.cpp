// SPDX-License-Identifier: Apache-2.0
// Blocks in an order in which most jumps fall through, and their labels.
//
//   if (r3 > 5) goto +2        setp.gt.u64 %egpu_p1, %egpu_r3, 5;
//                              @%egpu_p1 bra $egpu_4;
#include <vector>

#include "inject/codegen/emitter.hpp"

namespace egpu::inject {

using namespace ebpf;

namespace {

/// Needed instructions, each way followed to its end before its jumps' targets.
std::vector<std::uint32_t> order_of(const SpecializedProgram& program) {
    std::vector<std::uint32_t> order;
    std::vector<bool> placed(program.instructions.size());
    std::vector<std::uint32_t> waiting;
    if (const auto first = program.first_needed())
        waiting.push_back(*first);
    while (!waiting.empty()) {
        std::optional<std::uint32_t> at = waiting.back();
        waiting.pop_back();
        while (at && !placed[*at]) {
            placed[*at] = true;
            order.push_back(*at);
            if (is_conditional_jump(program.instructions[*at]))
                if (const auto taken = program.taken_needed(*at))
                    waiting.push_back(*taken);
            at = program.next_needed(*at);
        }
    }
    return order;
}

const char* comparison(std::uint8_t operation) {
    switch (operation) {
        case kJeq:
            return "eq.u";
        case kJne:
            return "ne.u";
        case kJgt:
            return "gt.u";
        case kJge:
            return "ge.u";
        case kJlt:
            return "lt.u";
        case kJle:
            return "le.u";
        case kJsgt:
            return "gt.s";
        case kJsge:
            return "ge.s";
        case kJslt:
            return "lt.s";
        default:
            return "le.s";
    }
}

}  // namespace

/// The label of an instruction, or of the end of the scope.
std::string Emitter::label_of(std::optional<std::uint32_t> at) {
    std::string& label = at ? labels_[*at] : end_label_;
    if (label.empty())
        label = new_label();
    return label;
}

std::string Emitter::new_label() {
    return fmt::format("$egpu_{}", function_.next_label++);
}

void Emitter::jump(std::uint32_t at) {
    const Instruction& i = program_.instructions[at];
    const InstructionFacts& facts = program_.facts[at];
    const bool wide = class_of(i) == kClassJmp;
    const char* bits = wide ? "64" : "32";
    const std::string a = wide ? operand64(at, i.destination, facts.destination_before)
                               : operand32(at, i.destination, facts.destination_before);
    const std::string b =
        wide ? operand64(at, i.source, facts.source_before) : operand32(at, i.source, facts.source_before);
    const std::string taken = registers_.predicate();
    if (operation_of(i) == kJset) {
        const std::string both = wide ? registers_.b64() : registers_.b32();
        emit(fmt::format("and.b{} {}, {}, {}", bits, both, a, b));
        emit(fmt::format("setp.ne.u{} {}, {}, 0", bits, taken, both));
    } else {
        emit(fmt::format("setp.{}{} {}, {}, {}", comparison(operation_of(i)), bits, taken, a, b));
    }
    emit(fmt::format("@{} bra {}", taken, label_of(program_.taken_needed(at))));
}

void Emitter::instruction(std::uint32_t at) {
    const Instruction& i = program_.instructions[at];
    const InstructionFacts& facts = program_.facts[at];
    const auto kind = class_of(i);
    const bool only_defines = kind == kClassLd || kind == kClassLdx || is_alu(i);
    const bool looks_up = i.opcode == kCall && facts.destination_after.is_static_element();
    if ((only_defines || looks_up) && facts.destination_after.is_known()) {
        const std::string to = reg(looks_up ? std::uint8_t{0} : i.destination, program_.depths[at]);
        if (facts.destination_after.is_constant())
            emit(fmt::format("mov.u64 {}, {}", to, literal64(facts.destination_after.constant)));
        else
            emit(fmt::format("mov.b64 {}, {}", to, materialised(at, facts.destination_after)));
    } else if (is_alu(i)) {
        alu(at);
    } else if (kind == kClassLdx) {
        load(at);
    } else if (kind == kClassStx && mode_of(i) == kModeAtomic) {
        atomic(at);
    } else if (kind == kClassSt || kind == kClassStx) {
        store(at);
    } else if (i.opcode == kCall) {
        call(at);
    } else if (is_conditional_jump(i)) {
        jump(at);
    }
}

void Emitter::blocks() {
    const auto order = order_of(program_);
    // Labels first: a jump back to a block must find its label printed.
    for (std::size_t i = 0; i < order.size(); ++i) {
        const auto next = program_.next_needed(order[i]);
        const bool falls = i + 1 < order.size() ? next == order[i + 1] : !next;
        if (!falls)
            label_of(next);
        if (is_conditional_jump(program_.instructions[order[i]]))
            label_of(program_.taken_needed(order[i]));
    }
    for (std::size_t i = 0; i < order.size(); ++i) {
        if (const auto label = labels_.find(order[i]); label != labels_.end())
            body_.label(label->second);
        instruction(order[i]);
        const auto next = program_.next_needed(order[i]);
        const bool falls = i + 1 < order.size() ? next == order[i + 1] : !next;
        if (!falls)
            emit(fmt::format("bra {}", label_of(next)));
    }
}

}  // namespace egpu::inject
