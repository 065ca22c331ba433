// SPDX-License-Identifier: Apache-2.0
//   before:  red.global.add.u64 [traffic_element], 4;      (at every access)
//   after:   add.u64 %egpu_acc0, %egpu_acc0, 4;            (at every access)
//            red.global.add.u64 [traffic_element], %egpu_acc0;   (before each exit)
// An element is kept in a register only where nobody could tell: every access to it, of every program attached to the
// kernel, is a 64-bit add of which the result is unused.
#include "inject/rewrite/accumulators.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "inject/rewrite/exit.hpp"

namespace egpu::inject {
namespace {

struct Candidate {
    ebpf::StaticElement element;
    std::uint32_t loop_depth = 0;
    std::uint32_t sites = 0;
    std::size_t order = 0;  ///< of first use, for a stable choice
};

std::vector<Candidate> find_candidates(const RewriteRequest& request, const Plan& plan) {
    std::map<ebpf::StaticElement, Candidate> by_element;
    for (const Firing& firing : plan.firings) {
        const auto& attached = request.programs[firing.program];
        const auto granularity = attached.program->point.granularity;
        const bool per_thread_or_warp =
            granularity == ebpf::Granularity::thread || granularity == ebpf::Granularity::warp;
        if (firing.site.function != request.functions.front() || !per_thread_or_warp)
            continue;
        for (const auto& use : firing.specialized->accumulators) {
            ebpf::StaticElement element = use.element;
            element.map += attached.map_base;
            if (element.byte % 8 != 0)
                continue;
            Candidate& candidate =
                by_element.try_emplace(element, Candidate{element, 0, 0, by_element.size()}).first->second;
            candidate.loop_depth = std::max(candidate.loop_depth, firing.site.loop_depth);
            ++candidate.sites;
        }
    }
    std::vector<Candidate> all;
    for (const auto& [element, candidate] : by_element)
        // A single add in straight code is one atomic operation either way: a register would only move it.
        if (candidate.loop_depth > 0 || candidate.sites > 1)
            all.push_back(candidate);
    std::sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) {
        return std::tuple(b.loop_depth, b.sites, a.order) < std::tuple(a.loop_depth, a.sites, b.order);
    });
    return all;
}

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

}  // namespace

std::vector<Accumulator> choose_accumulators(const RewriteRequest& request, const Plan& plan) {
    std::vector<Accumulator> chosen;
    if (request.accumulator_budget == 0 || !every_exit_is_in_the_entry(*request.module, request.functions))
        return chosen;
    const auto accesses = other_accesses(request, plan);
    for (const Candidate& candidate : find_candidates(request, plan)) {
        if (chosen.size() == request.accumulator_budget)
            break;
        const bool hindered = std::any_of(accesses.begin(), accesses.end(), [&](const ebpf::MapAccess& access) {
            return ebpf::stands_in_the_way(access, candidate.element);
        });
        if (!hindered)
            chosen.push_back({candidate.element, fmt::format("%egpu_acc{}", chosen.size())});
    }
    return chosen;
}

}  // namespace egpu::inject
