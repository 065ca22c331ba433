// SPDX-License-Identifier: Apache-2.0
#include "inject/match/calls.hpp"

#include <algorithm>

#include "inject/match/flow.hpp"

namespace egpu::inject {
namespace {

/// A guard farther from the end of its sequence than this isn't followed: no compiler writes that.
constexpr std::size_t kFarthestGuard = 256;

bool parts_threads(const OutlineItem& item) {
    if (item.label() != nullptr)
        return true;
    const auto* instruction = item.instruction();
    return instruction != nullptr &&
           (continuation_of(*instruction) != Continuation::next || instruction->parts.front() == "call");
}

}  // namespace

CallSequences::CallSequences(const Outline& outline)
    : outline_(&outline), kinds_(outline.items().size(), Kind::outside), sequences_(outline.items().size(), 0) {
    const auto& items = outline.items();
    const std::size_t none = items.size();
    std::uint32_t scope = Outline::kNoScope;
    std::size_t stored = none;  // item of the first st.param
    std::size_t called = none;  // item of the last call with results, or of the last load of one
    std::uint32_t results = 0;  // sequence of that call's results, from 1; 0: none yet
    // A parameter of the function itself is no argument or result of a call.
    const auto is_of_call = [&](const ptx::Instruction& instruction, std::size_t operand, std::size_t index) {
        const bool param = instruction.has("param") || instruction.has("param::func");
        return param && operand < instruction.operands.size() &&
               outline.meaning_of(base_name(instruction.operands[operand]), index).kind == Meaning::Kind::local;
    };
    for (std::size_t index = 0; index < items.size(); ++index) {
        if (items[index].scope != scope) {
            scope = items[index].scope;
            stored = called = none;
        }
        const auto* instruction = items[index].instruction();
        if (instruction == nullptr)
            continue;
        const std::string_view name = instruction->parts.front();
        if (name == "st" && stored == none && is_of_call(*instruction, 0, index)) {
            stored = index;
        } else if (name == "call") {
            if (stored != none) {
                all_.push_back({stored, true});
                mark(stored + 1, index + 1, Kind::argument, static_cast<std::uint32_t>(all_.size()) - 1);
            }
            stored = none;
            called = index;
            results = 0;
        } else if (name == "ld" && called != none && is_of_call(*instruction, 1, index)) {
            if (results == 0) {
                all_.push_back({index, true});
                results = static_cast<std::uint32_t>(all_.size());
            }
            all_[results - 1].place = index;
            mark(called + 1, index + 1, Kind::result, results - 1);
            called = index;
        }
    }
}

void CallSequences::mark(std::size_t from, std::size_t to, Kind kind, std::uint32_t sequence) {
    for (std::size_t index = from; index < to; ++index) {
        // Its last instruction may be the call itself, which ends the sequence.
        if (parts_threads(outline_->items()[index]) && index + 1 < to)
            all_[sequence].straight = false;
        kinds_[index] = kind;
        sequences_[index] = sequence;
    }
}

bool CallSequences::guard_is_written(std::size_t guarded, std::size_t from, std::size_t to) const {
    const auto* instruction = outline_->items()[guarded].instruction();
    if (instruction == nullptr || !instruction->guard)
        return false;
    if (to - from > kFarthestGuard)
        return true;
    const auto predicate = outline_->identity_of(instruction->guard->predicate, guarded);
    for (std::size_t index = from; index < to; ++index) {
        const auto* writer = outline_->items()[index].instruction();
        if (writer == nullptr || writer->operands.empty())
            continue;
        for (const auto* operand : with_parts(writer->operands.front()))
            if (outline_->identity_of(base_name(*operand), index) == predicate)
                return true;
    }
    return false;
}

std::optional<CallSequences::Place> CallSequences::place_for(std::size_t index) const {
    if (kinds_[index] == Kind::outside)
        return Place{index, false};
    const Sequence& sequence = all_[sequences_[index]];
    const bool behind = kinds_[index] == Kind::result;
    // The end of a sequence may stand in another one.
    const std::size_t next = sequence.place + (behind ? 1 : 0);
    if (!sequence.straight || (next < kinds_.size() && inside(next)))
        return std::nullopt;
    const bool written =
        behind ? guard_is_written(index, index, sequence.place + 1) : guard_is_written(index, sequence.place, index);
    return written ? std::nullopt : std::optional(Place{sequence.place, behind});
}

}  // namespace egpu::inject
