// SPDX-License-Identifier: Apache-2.0
// A fixpoint over the definitions of each register, regardless of order: a register has a space only where all its
// definitions give it that space. Facts only fall (undefined -> number or space -> unknown), so it ends.
#include "inject/match/spaces.hpp"

#include <algorithm>
#include <array>
#include <deque>

namespace egpu::inject {
namespace {

using ptx::AccessSpace;
using ptx::Operand;

std::optional<AccessSpace> converted_from(const ptx::Instruction& cvta) {
    if (cvta.has("to"))
        return std::nullopt;
    if (cvta.has("global"))
        return AccessSpace::global;
    if (cvta.has("shared") || cvta.has("shared::cta"))
        return AccessSpace::shared;
    if (cvta.has("local"))
        return AccessSpace::local;
    if (cvta.has("const"))
        return AccessSpace::constant;
    return std::nullopt;
}

/// Results that are no addresses, whatever goes in.
bool makes_numbers(std::string_view opcode) {
    static constexpr std::array<std::string_view, 18> kOpcodes{"mul", "shl", "shr",  "cvt",   "div",  "rem",
                                                               "neg", "not", "popc", "clz",   "brev", "bfe",
                                                               "bfi", "abs", "xor",  "szext", "bmsk", "cnot"};
    return std::find(kOpcodes.begin(), kOpcodes.end(), opcode) != kOpcodes.end();
}

/// How the sources' facts make the result's.
enum class Form { copy, sum, difference, either, masked, scaled_sum, number, unknown };

Form form_of(const ptx::Instruction& instruction) {
    const std::string_view name = instruction.parts.front();
    if (name == "mov")
        return Form::copy;
    if (name == "add")
        return Form::sum;
    if (name == "sub")
        return Form::difference;
    if (name == "selp")
        return Form::either;
    if (name == "and")
        return Form::masked;
    if (name == "mad")
        return Form::scaled_sum;
    return makes_numbers(name) ? Form::number : Form::unknown;
}

}  // namespace

GenericSpaces::Fact GenericSpaces::join(const Fact& one, const Fact& two) {
    if (one.state == Fact::State::undefined || one == two)
        return two;
    if (two.state == Fact::State::undefined)
        return one;
    return {Fact::State::unknown, AccessSpace::generic};
}

/// Which sources count is already chosen (definition_of): the result joins them, and a number added to an address
/// leaves its space as it is.
GenericSpaces::Fact GenericSpaces::evaluate(const Definition& definition) const {
    if (definition.sources.empty())
        return definition.fixed;
    const Fact unknown{Fact::State::unknown, AccessSpace::generic};
    Fact result = definition.fixed;
    for (std::size_t at = 0; at < definition.sources.size(); ++at) {
        const auto found = facts_.find(definition.sources[at]);
        const Fact fact = found == facts_.end() ? Fact{} : found->second;
        if (definition.how == Combine::join) {
            result = join(result, fact);
            continue;
        }
        if (fact.state == Fact::State::undefined)
            return fact;
        const bool second_address =
            fact.state == Fact::State::space &&
            (result.state == Fact::State::space || (at > 0 && definition.how == Combine::difference));
        if (fact.state == Fact::State::unknown || result.state == Fact::State::unknown || second_address)
            result = unknown;
        else if (fact.state == Fact::State::space)
            result = fact;
    }
    return result;
}

GenericSpaces::Definition GenericSpaces::definition_of(std::size_t index, const ptx::Instruction& instruction,
                                                       std::uint64_t to) const {
    const Fact number{Fact::State::number, AccessSpace::generic}, unknown{Fact::State::unknown, AccessSpace::generic};
    Definition definition;
    definition.to = to;
    definition.fixed = unknown;
    const auto& operands = instruction.operands;
    if (instruction.parts.front() == "cvta") {
        if (const auto space = converted_from(instruction))
            definition.fixed = {Fact::State::space, *space};
        return definition;
    }
    if (instruction.parts.front() == "ld" && instruction.has("param") && operands.size() == 2) {
        const auto meaning = outline_.meaning_of(base_name(operands[1]), index);
        if (meaning.kind == Meaning::Kind::parameter && operands[1].integer == 0) {
            const auto& attributes = meaning.variable->attributes;
            const auto has = [&](std::string_view word) {
                return std::find(attributes.begin(), attributes.end(), word) != attributes.end();
            };
            if (has("ptr") && has("global"))
                definition.fixed = {Fact::State::space, AccessSpace::global};
        }
        return definition;
    }
    const Form form = form_of(instruction);
    if (form == Form::unknown || operands.size() < 2 || operands[0].kind != Operand::Kind::identifier)
        return definition;
    definition.fixed = number;
    if (form == Form::number)
        return definition;
    definition.how = form == Form::copy || form == Form::either ? Combine::join
                     : form == Form::difference                 ? Combine::difference
                                                                : Combine::sum;
    if (definition.how == Combine::join)
        definition.fixed = {};
    const std::size_t last = form == Form::copy ? 2 : std::min<std::size_t>(operands.size(), 3);
    const std::size_t first = form == Form::scaled_sum ? 3 : 1;
    for (std::size_t at = first; at < (form == Form::scaled_sum ? operands.size() : last); ++at) {
        const Operand& operand = operands[at];
        if (operand.kind == Operand::Kind::integer) {
            definition.fixed = definition.how == Combine::join ? join(definition.fixed, number) : definition.fixed;
            continue;
        }
        const auto source = operand.kind == Operand::Kind::identifier ? outline_.identity_of(operand.text, index) : 0;
        if (source == 0 || outline_.register_bits(operand.text, index) == 0) {
            definition.sources.clear();
            definition.fixed = unknown;
            return definition;
        }
        definition.sources.push_back(source);
    }
    return definition;
}

void GenericSpaces::collect() {
    const auto& items = outline_.items();
    for (std::size_t index = 0; index < items.size(); ++index) {
        const auto* instruction = items[index].instruction();
        if (instruction == nullptr || instruction->operands.empty())
            continue;
        for (const Operand* target : with_parts(instruction->operands.front())) {
            if (target->kind != Operand::Kind::identifier)
                continue;
            const auto to = outline_.identity_of(target->text, index);
            if (to != 0 && outline_.register_bits(target->text, index) == 64)
                definitions_.push_back(definition_of(index, *instruction, to));
        }
    }
}

GenericSpaces::GenericSpaces(const Outline& outline) : outline_(outline) {
    collect();
    std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> users;
    std::deque<std::uint32_t> work;
    for (std::uint32_t number = 0; number < definitions_.size(); ++number) {
        for (const auto source : definitions_[number].sources)
            users[source].push_back(number);
        work.push_back(number);
    }
    while (!work.empty()) {
        const Definition& definition = definitions_[work.front()];
        work.pop_front();
        Fact& fact = facts_[definition.to];
        const Fact next = join(fact, evaluate(definition));
        if (next == fact)
            continue;
        fact = next;
        if (const auto found = users.find(definition.to); found != users.end())
            work.insert(work.end(), found->second.begin(), found->second.end());
    }
}

std::optional<AccessSpace> GenericSpaces::space_of(std::string_view name, std::size_t index) const {
    const auto found = facts_.find(outline_.identity_of(name, index));
    if (found == facts_.end() || found->second.state != Fact::State::space)
        return std::nullopt;
    return found->second.space;
}

}  // namespace egpu::inject
