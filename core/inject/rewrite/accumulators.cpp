// SPDX-License-Identifier: Apache-2.0
//   before:  red.global.add.u64 [bytes], 4; red.global.add.u64 [accesses], 1;    (at every access)
//   after:   add.s64 %egpu_acc0, %egpu_acc0, 2;                                  (once for a block of two accesses)
//            <add 4 * %egpu_acc0 to bytes and %egpu_acc0 to accesses>            (before each exit)
// and in straight code, where no register is worth it:
//            <add 8 and 2 for each lane that is here>                            (once for a block of two accesses)
// What can't be counted so, because the number added is known only at run time, is summed up in a register of its own.
// An element is counted or summed up only where nobody could tell: every access to it, of every program attached to
// the kernel, is a 64-bit add of which the result is unused.
#include "inject/rewrite/accumulators.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include <fmt/format.h>

#include "inject/match/ways_out.hpp"
#include "inject/rewrite/groups.hpp"
#include "inject/rewrite/writer.hpp"

namespace egpu::inject {
namespace {

/// Straight code with more groups than this is counted in registers, where there are some left.
constexpr std::size_t kMostInPlace = 2;

/// All accesses that are no plain adds, in the session's numbering, each once.
std::vector<ebpf::MapAccess> other_accesses(const RewriteRequest& request, const Plan& plan) {
    std::vector<ebpf::MapAccess> all;
    const ebpf::SpecializedProgram* last = nullptr;
    for (const Firing& firing : plan.firings) {
        if (firing.specialized.get() == last)
            continue;
        last = firing.specialized.get();
        for (ebpf::MapAccess access : last->accesses) {
            if (access.map != ebpf::kAnyMap)
                access.map += request.programs[firing.program].map_base;
            access.instruction = 0;
            all.push_back(access);
        }
    }
    return all;
}

/// `times` times `shares`: amounts that are multiples of each other need one register.
struct Part {
    std::vector<Share> shares;
    std::uint32_t times = 1;
};

Part part_of(const Amounts& amounts) {
    Part part;
    part.times = 0;
    for (const auto& [element, amount] : amounts)
        part.times = std::gcd(part.times, amount);
    for (const auto& [element, amount] : amounts)
        part.shares.push_back({element, amount / part.times});
    return part;
}

/// One part for each slot of a map.
std::vector<Part> parts_by_slot(const Amounts& amounts) {
    std::vector<Part> parts;
    Amounts slot;
    for (auto at = amounts.begin(); at != amounts.end(); ++at) {
        slot.insert(*at);
        const auto next = std::next(at);
        if (next == amounts.end() ||
            std::tie(next->first.map, next->first.slot) != std::tie(at->first.map, at->first.slot)) {
            parts.push_back(part_of(slot));
            slot.clear();
        }
    }
    return parts;
}

/// Something that a register could hold.
struct Candidate {
    Accumulator accumulator;
    std::uint32_t loop_depth = 0;
    std::size_t sites = 0;
};

class Choice {
public:
    Choice(const RewriteRequest& request, const Plan& plan, const FunctionWriter& entry)
        : request_(request), plan_(plan), entry_(entry), accesses_(other_accesses(request, plan)) {
        if (ways_out(*request.module, request.functions) == WaysOut::in_entry)
            budget_ = request.accumulator_budget;
    }

    Sums make() {
        groups_ = find_groups(request_, plan_, entry_, [this](const auto& element) { return !is_hindered(element); });
        for (const Group& group : groups_)
            grouped_.insert(group.firings.begin(), group.firings.end());
        auto candidates = sums();
        split_ = false;
        auto counts = counts_where([](const Group& group) { return group.loop_depth > 0; });
        if (candidates.size() + counts.size() > budget_) {
            split_ = true;
            auto finer = counts_where([](const Group& group) { return group.loop_depth > 0; });
            split_ = finer.size() < counts.size();
            if (split_)
                counts = std::move(finer);
        }
        candidates.insert(candidates.end(), counts.begin(), counts.end());
        take(std::move(candidates));
        take_straight_code();
        for (const Group& group : groups_)
            count(group);
        return std::move(result_);
    }

private:
    bool is_hindered(const ebpf::StaticElement& element) const {
        return std::any_of(accesses_.begin(), accesses_.end(),
                           [&](const ebpf::MapAccess& access) { return ebpf::stands_in_the_way(access, element); });
    }

    /// Elements to which firings outside of groups add.
    std::vector<Candidate> sums() const {
        std::map<ebpf::StaticElement, Candidate> by_element;
        for (const Firing& firing : plan_.firings) {
            const auto& attached = request_.programs[firing.program];
            const auto granularity = attached.program->point.granularity;
            const bool per_thread_or_warp =
                granularity == ebpf::Granularity::thread || granularity == ebpf::Granularity::warp;
            if (firing.site.function != request_.functions.front() || !per_thread_or_warp || grouped_.contains(&firing))
                continue;
            for (const auto& use : firing.specialized->accumulators) {
                ebpf::StaticElement element = use.element;
                element.map += attached.map_base;
                if (element.byte % 8 != 0 || is_hindered(element))
                    continue;
                Candidate& candidate = by_element[element];
                candidate.accumulator.shares = {{element, 1}};
                candidate.loop_depth = std::max(candidate.loop_depth, firing.site.loop_depth);
                ++candidate.sites;
            }
        }
        std::vector<Candidate> all;
        for (const auto& [element, candidate] : by_element)
            // A single add in straight code is one atomic operation either way: a register would only move it.
            if (candidate.loop_depth > 0 || candidate.sites > 1)
                all.push_back(candidate);
        return all;
    }

    std::vector<Part> parts_of(const Group& group) const {
        return split_ ? parts_by_slot(group.amounts) : std::vector{part_of(group.amounts)};
    }

    /// What registers would hold for the groups for which `wanted` says so.
    template <typename Wanted>
    std::vector<Candidate> counts_where(const Wanted& wanted) const {
        std::vector<Candidate> all;
        for (const Group& group : groups_) {
            if (!wanted(group))
                continue;
            for (Part& part : parts_of(group)) {
                const auto known = std::find_if(all.begin(), all.end(), [&](const Candidate& candidate) {
                    return candidate.accumulator.shares == part.shares;
                });
                Candidate& candidate = known != all.end() ? *known : all.emplace_back();
                candidate.accumulator.shares = std::move(part.shares);
                candidate.accumulator.counts_instructions = true;
                candidate.loop_depth = std::max(candidate.loop_depth, group.loop_depth);
                candidate.sites += group.firings.size();
            }
        }
        return all;
    }

    void take(std::vector<Candidate> candidates) {
        std::stable_sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
            return std::tuple(b.loop_depth, b.sites) < std::tuple(a.loop_depth, a.sites);
        });
        for (Candidate& candidate : candidates) {
            if (result_.accumulators.size() >= budget_)
                return;
            candidate.accumulator.register_name = fmt::format("%egpu_acc{}", result_.accumulators.size());
            result_.accumulators.push_back(std::move(candidate.accumulator));
        }
    }

    /// The register that counts a part; nullopt: none does.
    std::optional<std::size_t> register_of(const Part& part) const {
        for (std::size_t i = 0; i < result_.accumulators.size(); ++i)
            if (result_.accumulators[i].counts_instructions && result_.accumulators[i].shares == part.shares)
                return i;
        return std::nullopt;
    }

    bool is_in_registers(const Group& group) const {
        const auto parts = parts_of(group);
        return std::all_of(parts.begin(), parts.end(), [&](const Part& part) { return register_of(part).has_value(); });
    }

    /// Registers that are left go to straight code, if it has many groups, or such as can't be counted in place.
    void take_straight_code() {
        const auto is_left = [&](const Group& group) { return group.loop_depth == 0 && !is_in_registers(group); };
        std::size_t in_place = 0;
        bool guarded = false;
        for (const Group& group : groups_) {
            in_place += is_left(group) && group.guard.empty() ? 1 : 0;
            guarded = guarded || (is_left(group) && !group.guard.empty());
        }
        if (in_place > kMostInPlace || guarded)
            take(counts_where(is_left));
    }

    void count(const Group& group) {
        Count count;
        Amounts left;
        for (const Part& part : parts_of(group)) {
            if (const auto accumulator = register_of(part)) {
                count.adds.push_back({*accumulator, part.times});
                continue;
            }
            for (const Share& share : part.shares)
                left[share.element] = share.factor * part.times;
        }
        if (!left.empty() && !group.guard.empty())
            return;  // as any other firing
        for (const auto& [element, amount] : left)
            count.shares.push_back({element, amount});
        count.guard = group.guard;
        count.after = count.adds.empty() && group.last_load != nullptr;
        count.at = count.after ? group.last_load : group.last;
        result_.counted.insert(group.firings.begin(), group.firings.end());
        result_.counts.push_back(std::move(count));
    }

    const RewriteRequest& request_;
    const Plan& plan_;
    const FunctionWriter& entry_;
    const std::vector<ebpf::MapAccess> accesses_;
    std::size_t budget_ = 0;
    bool split_ = false;  ///< groups are counted slot by slot: fewer registers for many groups
    std::vector<Group> groups_;
    std::set<const Firing*> grouped_;
    Sums result_;
};

}  // namespace

Sums choose_sums(const RewriteRequest& request, const Plan& plan, const FunctionWriter& entry) {
    return Choice(request, plan, entry).make();
}

}  // namespace egpu::inject
