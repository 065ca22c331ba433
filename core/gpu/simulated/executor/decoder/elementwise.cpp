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

namespace {

/// What `set` writes where the comparison holds; 0 for types it does not have.
std::uint32_t true_value(Type type) {
    switch (type) {
        case Type::u16:
        case Type::s16:
            return 0xffff;
        case Type::u32:
        case Type::s32:
            return 0xffffffff;
        case Type::f16:
        case Type::f16x2:
            return 0x3c00;
        case Type::bf16:
        case Type::bf16x2:
            return 0x3f80;
        case Type::f32:
            return 0x3f800000;
        default:
            return 0;
    }
}

bool is_pair(Type type) {
    return type == Type::f16x2 || type == Type::bf16x2;
}

}  // namespace

/// set is setp into a temporary and a choice between the two values of true and false:
///
///   set.gt.u32.f32 %r1, %f1, %f2;   ->   setp.gt.f32 t, %f1, %f2;  selp.b32 %r1, 0xffffffff, 0, t;
///   set.gt.f16x2.f16x2 %r1, ...;    ->   setp.gt.f16x2 t|u, ...;   selp low; selp high; or
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
    const std::uint32_t yes = true_value(type);
    const bool pair = is_pair(type);
    if (!form.problem.empty() || yes == 0 || is_pair(form.sources[0]) != pair ||
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
    test.has_second = pair;
    test.second_destination = pair ? layout_.row(Type::pred) : Place();
    emit(test);
    const Target result = target(current_->operands.front(), type);
    choose(result.place, yes, test.destination);
    if (pair) {
        const Place high = layout_.row(Type::b32);
        choose(high, yes << 16, test.second_destination);
        static constexpr std::string_view kJoin[] = {"or", "b32"};
        Instruction join = begin();
        join.handler = select(kJoin, found).handler;
        join.destination = join.sources[0] = result.place;
        join.sources[1] = high;
        emit(join);
    }
    finish(result);
}

/// destination = condition ? value : 0
void FunctionDecoder::choose(Place destination, std::uint32_t value, Place condition) {
    static constexpr std::string_view kChoice[] = {"selp", "b32"};
    bool found = false;
    Instruction instruction = begin();
    instruction.handler = select(kChoice, found).handler;
    instruction.sources[0] = builder_.constant(value, false);
    instruction.sources[1] = builder_.constant(0, false);
    instruction.sources[2] = condition;
    instruction.destination = destination;
    emit(instruction);
}

}  // namespace egpu::simulated
