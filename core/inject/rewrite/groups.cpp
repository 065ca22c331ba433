// SPDX-License-Identifier: Apache-2.0
// A group is what stands between two places at which threads can come, go or stay away: labels, branches, exits and
// calls (a device function may hold an exit). An instruction with a guard is a group of its own.
#include "inject/rewrite/groups.hpp"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "inject/match/flow.hpp"
#include "inject/rewrite/writer.hpp"

namespace egpu::inject {
namespace {

constexpr std::uint64_t kLargestConstant = 0xffff;                ///< of one program; larger ones are no counts
constexpr std::uint32_t kLargestAmount = std::uint32_t{1} << 24;  ///< of a group
constexpr int kLongestProgram = 32;

/// What a program adds where it does nothing else.
std::optional<Amounts> constant_amounts(const ebpf::SpecializedProgram& program, std::uint32_t map_base) {
    Amounts amounts;
    int length = 0;
    for (auto at = program.first_needed(); at; at = program.next_needed(*at)) {
        const ebpf::AccumulatorUse* found = nullptr;
        for (const auto& use : program.accumulators)
            if (use.instruction == *at)
                found = &use;
        if (found == nullptr || !found->constant || *found->constant > kLargestConstant ||
            found->element.byte % 8 != 0 || ++length > kLongestProgram)
            return std::nullopt;
        ebpf::StaticElement element = found->element;
        element.map += map_base;
        if (*found->constant != 0)
            amounts[element] += static_cast<std::uint32_t>(*found->constant);
    }
    return amounts;
}

/// By item of the outline: a number that changes wherever a thread may stay away or join.
std::vector<std::uint32_t> number_regions(const Outline& outline) {
    std::vector<std::uint32_t> regions;
    std::uint32_t region = 0;
    bool begins = false;
    for (const auto& item : outline.items()) {
        const auto* instruction = item.instruction();
        if (begins || item.label() != nullptr)
            ++region;
        regions.push_back(region);
        begins = instruction != nullptr &&
                 (continuation_of(*instruction) != Continuation::next || instruction->parts.front() == "call");
    }
    return regions;
}

class Grouping {
public:
    Grouping(const RewriteRequest& request, const Plan& plan, const FunctionWriter& entry,
             const std::function<bool(const ebpf::StaticElement&)>& may_count)
        : request_(request),
          plan_(plan),
          entry_(entry),
          may_count_(may_count),
          regions_(number_regions(entry.outline())) {}

    std::vector<Group> find() {
        for (const Firing& firing : plan_.firings)
            if (may_be_grouped(firing))
                if (const auto amounts = amounts_of(firing))
                    add(firing, *amounts);
        return std::move(groups_);
    }

private:
    bool may_be_grouped(const Firing& firing) const {
        const auto& point = request_.programs[firing.program].program->point;
        if (firing.site.function != &entry_.function() || firing.site.instruction == nullptr ||
            ebpf::waits_for_value(point.event) || point.granularity != ebpf::Granularity::thread ||
            firing.test.kind != SpaceTest::Kind::always || firing.site.behind)
            return false;
        const std::size_t index = entry_.index_of(*firing.site.anchor);
        return !entry_.inside_call_sequence(index) && !entry_.straight_code_only(index);
    }

    const std::optional<Amounts>& amounts_of(const Firing& firing) {
        const auto [found, is_new] = known_.try_emplace(firing.specialized.get());
        if (is_new) {
            found->second = constant_amounts(*firing.specialized, request_.programs[firing.program].map_base);
            if (found->second)
                for (const auto& [element, amount] : *found->second)
                    if (!may_count_(element)) {
                        found->second.reset();
                        break;
                    }
        }
        return found->second;
    }

    void add(const Firing& firing, const Amounts& amounts) {
        if (amounts.empty())
            return;
        const auto& anchor = *firing.site.anchor;
        const auto& guard = firing.site.guard;
        const std::size_t index = entry_.index_of(anchor);
        // (region, 0) or, where guarded, (region, item + 1).
        const std::pair key{regions_[index], guard ? entry_.index_of(*firing.site.instruction) + 1 : 0};
        const auto [known, is_new] = open_.try_emplace(key, groups_.size());
        if (!is_new && is_full(groups_[known->second]))
            known->second = groups_.size();
        if (known->second == groups_.size())
            groups_.emplace_back();
        Group& group = groups_[known->second];
        group.firings.push_back(&firing);
        for (const auto& [element, amount] : amounts)
            group.amounts[element] += amount;
        group.loop_depth = firing.site.loop_depth;
        if (guard)
            group.guard = fmt::format("@{}{} ", guard->negated ? "!" : "", guard->predicate);
        const auto later = [&](const ptx::Instruction* one) { return one == nullptr || entry_.index_of(*one) < index; };
        if (later(group.last))
            group.last = &anchor;
        if (loads(firing) && later(group.last_load))
            group.last_load = &anchor;
    }

    bool loads(const Firing& firing) const {
        const auto event = request_.programs[firing.program].program->point.event;
        return ebpf::context_of(event) == ebpf::ContextKind::mem && firing.site.access.kind == ptx::AccessKind::load;
    }

    static bool is_full(const Group& group) {
        for (const auto& [element, amount] : group.amounts)
            if (amount > kLargestAmount)
                return true;
        return false;
    }

    const RewriteRequest& request_;
    const Plan& plan_;
    const FunctionWriter& entry_;
    const std::function<bool(const ebpf::StaticElement&)>& may_count_;
    const std::vector<std::uint32_t> regions_;
    std::map<const ebpf::SpecializedProgram*, std::optional<Amounts>> known_;
    std::map<std::pair<std::uint32_t, std::size_t>, std::size_t> open_;
    std::vector<Group> groups_;
};

}  // namespace

std::vector<Group> find_groups(const RewriteRequest& request, const Plan& plan, const FunctionWriter& entry,
                               const std::function<bool(const ebpf::StaticElement&)>& may_count) {
    return Grouping(request, plan, entry, may_count).find();
}

}  // namespace egpu::inject
