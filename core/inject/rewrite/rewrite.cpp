// SPDX-License-Identifier: Apache-2.0
// The order of a rewrite: plan all firings, choose over all of them what is counted in registers, then write each
// function from its start to its end, so that insertions at one place keep their order.
#include "inject/rewrite/rewrite.hpp"

#include <algorithm>
#include <unordered_map>

#include "inject/match/ways_out.hpp"
#include "inject/rewrite/accumulators.hpp"
#include "inject/rewrite/writer.hpp"

namespace egpu::inject {
namespace {

/// By where they stand. Those at kernel_exit are for every function: a device function may hold an `exit`.
struct SortedFirings {
    Firings entry, exit;
    bool once_a_grid = false;  ///< some program is
    std::unordered_map<const ptx::Instruction*, AtInstruction> at;
};

SortedFirings sort_firings(const Plan& plan, const RewriteRequest& request) {
    SortedFirings result;
    for (const Firing& firing : plan.firings) {
        const auto& point = request.programs[firing.program].program->point;
        const auto event = point.event;
        result.once_a_grid = result.once_a_grid || point.granularity == ebpf::Granularity::grid;
        if (event == ebpf::Event::kernel_exit)
            result.exit.push_back(&firing);
        else if (event == ebpf::Event::kernel_entry)
            result.entry.push_back(&firing);
        else if (ebpf::waits_for_value(event))
            result.at[firing.site.anchor].returned.push_back(&firing);
        else if (firing.site.behind)
            result.at[firing.site.anchor].behind.push_back(&firing);
        else
            result.at[firing.site.anchor].before.push_back(&firing);
    }
    return result;
}

Status write_function(FunctionWriter& writer, const SortedFirings& firings) {
    const bool is_entry = writer.function().is_entry;
    if (auto status = rewrite_start(writer, is_entry ? firings.entry : Firings{}); !status)
        return status;
    for (const auto& item : writer.outline().items()) {
        const auto* instruction = item.instruction();
        if (instruction == nullptr)
            continue;
        if (const auto found = firings.at.find(instruction); found != firings.at.end())
            if (auto status = rewrite_instruction(writer, *instruction, found->second); !status)
                return status;
        // Behind the programs at the instruction itself: what they add to registers is flushed here.
        if (leaves_kernel(writer.function(), *instruction))
            if (auto status = rewrite_exit(writer, *instruction, firings.exit); !status)
                return status;
    }
    if (is_entry && !firings.exit.empty())
        writer.count_place();
    return rewrite_end(writer, firings.exit);
}

bool is_higher(const Target& one, const Target& two) {
    return std::pair(one.ptx_major, one.ptx_minor) > std::pair(two.ptx_major, two.ptx_minor);
}

}  // namespace

Result<RewriteResult> rewrite(const RewriteRequest& request, ptx::Editor& editor) {
    RewriteResult result;
    result.required = request.target;
    const auto begin = std::chrono::steady_clock::now();
    auto plan = make_plan(request);
    if (!plan)
        return plan.errors();
    result.planning = std::chrono::steady_clock::now() - begin;
    result.outcomes = std::move(plan->outcomes);
    const SortedFirings firings = sort_firings(*plan, request);
    std::uint32_t next_label = 0;
    Sums sums;
    for (const auto* function : request.functions) {
        if (function->body == nullptr)
            continue;
        FunctionContext context;
        context.target = context.required = request.target;
        context.table = request.table;
        context.layouts = request.layouts;
        context.next_label = next_label;
        FunctionWriter writer(request, *function, context, editor, result);
        if (function == request.functions.front()) {
            if (!plan->parts_lanes)
                sums = choose_sums(request, *plan, writer);
            result.accumulators = static_cast<std::uint32_t>(sums.accumulators.size());
            context.accumulators = sums.accumulators;
        }
        writer.count_with(sums);
        if (firings.once_a_grid)
            writer.follow_grids();
        if (auto status = write_function(writer, firings); !status)
            return status.errors();
        next_label = context.next_label;
        if (is_higher(context.required, result.required))
            result.required = context.required;
    }
    return result;
}

}  // namespace egpu::inject
