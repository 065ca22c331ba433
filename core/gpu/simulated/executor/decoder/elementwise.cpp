// SPDX-License-Identifier: Apache-2.0
// Instructions that act on each lane alone: operands by the form that the operations give.
#include <fmt/format.h>

#include "gpu/simulated/executor/decoder/function_decoder.hpp"
#include "gpu/simulated/executor/machine/cost.hpp"

namespace egpu::simulated {
namespace {
using Kind = ptx::Operand::Kind;
}

/// Operands: destination (perhaps d|p), sources, and for lop3 its table.
void FunctionDecoder::decode_form(const Form& form) {
    const bool has_table = current_->parts.front() == "lop3";
    const unsigned sources = form.source_count();
    if (!want(1 + sources + (has_table ? 1 : 0), 1 + sources + (has_table ? 1 : 0))) {
        return;
    }
    Instruction instruction = begin();
    instruction.handler = form.handler;
    instruction.variant = form.variant;
    instruction.cost = form.cost;
    for (unsigned i = 0; i < sources; ++i) {
        const ptx::Operand& operand = current_->operands[1 + i];
        if (form.sources[i] == Type::pred) {
            bool negated = false;
            instruction.sources[i] = predicate(operand, negated);
            if (negated && instruction.source_negated) {
                missing("two negated predicates in one instruction");
            }
            instruction.source_negated = instruction.source_negated || negated;
            if (negated && i != 0 && form.destination == Type::pred && form.sources[0] == Type::pred) {
                missing("a negated second operand");
            }
        } else {
            instruction.sources[i] = source(operand, form.sources[i]);
        }
    }
    if (has_table) {
        const ptx::Operand& table = current_->operands.back();
        if (table.kind != Kind::integer || table.integer < 0 || table.integer > 255) {
            malformed("the table of lop3 is no immediate from 0 to 255");
            return;
        }
        instruction.variant = static_cast<std::uint8_t>(table.integer);
    }
    const ptx::Operand& destination = current_->operands.front();
    if (form.destination == Type::pred) {
        const bool pair = destination.kind == Kind::pair && destination.parts.size() == 2;
        if (pair && form.second_destination == Type::none) {
            malformed(fmt::format("'{}' with two results", current_->opcode));
            return;
        }
        instruction.destination = predicate_target(pair ? destination.parts[0] : destination);
        if (pair) {
            instruction.second_destination = predicate_target(destination.parts[1]);
            instruction.has_second = true;
        }
        emit(instruction);
        return;
    }
    const Target result = target(destination, form.destination);
    instruction.destination = result.place;
    emit(instruction);
    finish(result);
}

/// set is setp into a temporary and a choice between the two values of true and false:
///
///   set.gt.u32.f32 %r1, %f1, %f2;   ->   setp.gt.f32 t, %f1, %f2;  selp.u32 %r1, 0xffffffff, 0, t;
void FunctionDecoder::decode_set() {
    std::vector<std::string_view> compare(current_->parts.begin(), current_->parts.end());
    std::size_t first = 1;
    while (first < compare.size() && !parse_type(compare[first])) {
        ++first;
    }
    if (first + 1 >= compare.size() || !want(3, 4)) {
        malformed(fmt::format("'{}' without two types", current_->opcode));
        return;
    }
    const Type type = *parse_type(compare[first]);
    compare.front() = "setp";
    compare.erase(compare.begin() + static_cast<std::ptrdiff_t>(first));
    bool found = false;
    const Form form = select(compare, found);
    const bool known = type == Type::u32 || type == Type::s32 || type == Type::f32;
    if (!form.problem.empty() || !known || form.sources[0] == Type::f16x2 || form.sources[0] == Type::bf16x2 ||
        current_->operands.size() != 1 + form.source_count()) {
        missing(fmt::format("'{}'", current_->opcode));
        return;
    }
    Instruction test = begin();
    test.handler = form.handler;
    test.variant = form.variant;
    test.cost = form.cost;
    test.sources[0] = source(current_->operands[1], form.sources[0]);
    test.sources[1] = source(current_->operands[2], form.sources[1]);
    if (form.source_count() == 3) {
        test.sources[2] = predicate(current_->operands[3], test.source_negated);
    }
    test.destination = layout_.row(Type::pred);
    emit(test);
    static constexpr std::string_view kChoice[] = {"selp", "b32"};
    Instruction choose = begin();
    choose.handler = select(kChoice, found).handler;
    choose.sources[0] = builder_.constant(type == Type::f32 ? 0x3f800000U : 0xffffffffU, false);
    choose.sources[1] = builder_.constant(0, false);
    choose.sources[2] = test.destination;
    const Target result = target(current_->operands.front(), type);
    choose.destination = result.place;
    emit(choose);
    finish(result);
}

}  // namespace egpu::simulated
