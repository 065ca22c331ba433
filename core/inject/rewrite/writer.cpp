// SPDX-License-Identifier: Apache-2.0
#include "inject/rewrite/writer.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace egpu::inject {

namespace {

/// addc, subc, madc: what gave them their carry may stand anywhere before.
bool reads_carry(const ptx::Instruction& instruction) {
    const auto opcode = instruction.parts.front();
    return opcode == "addc" || opcode == "subc" || opcode == "madc";
}

}  // namespace

FunctionWriter::FunctionWriter(const RewriteRequest& request, const ptx::Function& function, FunctionContext& context,
                               ptx::Editor& editor, RewriteResult& result)
    : request_(request),
      outline_(*request.module, function),
      context_(context),
      editor_(editor),
      result_(result),
      calls_(outline_) {
    const auto& items = outline_.items();
    for (std::size_t index = 0; index < items.size(); ++index)
        if (const auto* instruction = items[index].instruction()) {
            index_of_.emplace(instruction, index);
            uses_carry_ = uses_carry_ || reads_carry(*instruction);
        }
    straight_only_.resize(items.size());
    mark_wgmma();
}

void FunctionWriter::mark_wgmma() {
    const auto& items = outline_.items();
    bool open = false;
    for (std::size_t index = 0; index < items.size(); ++index) {
        const auto* instruction = items[index].instruction();
        const bool wgmma = instruction != nullptr && instruction->parts.front() == "wgmma";
        open = open || (wgmma && instruction->has("fence"));
        straight_only_[index] = open;  // what stands before a commit_group, stands between
        open = open && !(wgmma && instruction->has("commit_group"));
    }
}

std::string_view inserted(std::string_view text) {
    return text.starts_with('\t') ? text.substr(1) : text;
}

std::string FunctionWriter::new_label() {
    return fmt::format("$egpu_{}", context_.next_label++);
}

void FunctionWriter::skip(const Firing& firing, std::string_view code, std::string reason) {
    if (!skipped_.insert({firing.program, firing.site.instruction}).second)
        return;
    ProgramOutcome& outcome = result_.outcomes[firing.program];
    --outcome.sites;
    const bool block = request_.programs[firing.program].program->point.event == ebpf::Event::basic_block;
    Diagnostic left_out = note(code, fmt::format("{}'{}' is not counted: {}", block ? "the block from " : "",
                                                 firing.site.instruction->opcode, reason));
    left_out.where.file = std::string(request_.module->file_name(firing.site.source.file));
    left_out.where.line = firing.site.source.line;
    outcome.notes.push_back(std::move(left_out));
}

void FunctionWriter::count_with(const Sums& sums) {
    sums_ = &sums;
    if (function().is_entry)
        for (const Count& one : sums.counts)
            counts_[one.at].push_back(&one);
}

std::string FunctionWriter::counts_at(const ptx::Instruction& instruction, bool after) {
    std::string text;
    const auto found = counts_.find(&instruction);
    if (found == counts_.end())
        return text;
    for (const Count* each : found->second) {
        const Count& one = *each;
        if (one.after != after)
            continue;
        for (const auto& add : one.adds) {
            const EmittedProbe counted = emit_register_add(
                one.guard, sums_->accumulators[add.accumulator].register_name, add.amount, !uses_carry_);
            text += counted.text;
            count(counted.instructions);
        }
        if (one.shares.empty())
            continue;
        const EmittedProbe adds = emit_lane_adds(context_, one.shares);
        text += adds.text;
        count(adds.instructions);
    }
    return text;
}

Result<std::string> FunctionWriter::emit(const Firing& firing, SiteBinding binding) {
    if (firing.specialized->empty)
        return std::string();
    const auto& attached = request_.programs[firing.program];
    binding.granularity = attached.program->point.granularity;
    binding.event = attached.program->point.event;
    binding.kernel_id = request_.kernel_id;
    binding.site_id = firing.site_id;
    for (const auto& parameter : request_.functions.front()->parameters)
        binding.arguments.push_back({std::string(parameter.name), static_cast<std::uint32_t>(parameter.bytes())});
    binding.in_device_function = !function().is_entry;
    auto probe = emit_probe(*firing.specialized, binding, attached.map_base, context_);
    if (!probe)
        return probe.errors();
    result_.instructions_added += probe->instructions;
    if (!probe->text.empty() && probe->text.back() != '\n')
        probe->text += '\n';
    return std::move(probe->text);
}

SiteBinding guarded_binding(const Site& site) {
    SiteBinding binding;
    if (site.guard) {
        binding.guard = std::string(site.guard->predicate);
        binding.guard_negated = site.guard->negated;
    }
    return binding;
}

}  // namespace egpu::inject
