// SPDX-License-Identifier: Apache-2.0
// How the parts come together: what is reachable, what is refused, what is erased, which addresses are needed, then the
// programs. All of it is edits of the original's text.
#include "inject/clone/clone.hpp"

#include <algorithm>
#include <charconv>
#include <memory>
#include <unordered_set>

#include <fmt/format.h>

#include "inject/clone/addressing.hpp"
#include "inject/clone/bodies.hpp"
#include "inject/clone/prune.hpp"
#include "inject/match/match.hpp"
#include "inject/rewrite/rewrite.hpp"
#include "ptx/syntax/edit.hpp"

namespace egpu::inject {
namespace {

/// A copy under way: the original's text with edits.
struct Draft {
    Draft(const ptx::Module& original, Table& words) : module(original), editor(original), table(words) {}

    const ptx::Module& module;
    ptx::Editor editor;
    ConstantBank bank;
    Table& table;  ///< of all bodies of the copy
    Target target;
    std::vector<const ptx::Function*> functions;
    std::map<const ptx::Function*, std::unique_ptr<Addressing>> addressing;
};

/// "sm_90a" -> 90.
std::uint32_t number_of_target(std::string_view target) {
    std::uint32_t number = 0;
    const std::string_view digits = target.substr(target.find('_') + 1);
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return number;
}

Result<Target> target_of(const ptx::Module& module) {
    const Target target{number_of_target(module.target), module.version_major, module.version_minor};
    if (target.sm >= 60)
        return target;
    Diagnostic diagnostic = error("EGPU-P209", fmt::format("the PTX is for {}", module.target));
    diagnostic.why = "egpu's programs need scoped atomics, which begin with sm_60";
    diagnostic.fix = "compile the application for sm_60 or later";
    return diagnostic;
}

/// Everything but the programs.
Status begin(Draft& draft, const std::string& entry_name, bool constants_in_bank) {
    if (auto status = check_module(draft.module); !status)
        return status;
    auto target = target_of(draft.module);
    if (!target)
        return target.errors();
    draft.target = *target;
    const ptx::Function* entry = draft.module.function(entry_name);
    if (entry == nullptr || !entry->is_entry || entry->body == nullptr)
        return error("EGPU-P201", fmt::format("the module has no kernel '{}'", entry_name));
    auto functions = reachable_functions(draft.module, *entry);
    if (!functions)
        return functions.errors();
    draft.functions = std::move(*functions);
    if (auto status = check_functions(draft.module, draft.functions); !status)
        return status;
    if (constants_in_bank)
        draft.bank = ConstantBank(draft.module, draft.functions);
    prune(draft.module, draft.functions, draft.editor);
    for (const auto* function : draft.functions) {
        if (function->body == nullptr)
            continue;
        auto addressing = std::make_unique<Addressing>(draft.module, *function, draft.bank, draft.table, draft.editor);
        if (auto status = addressing->rewrite(); !status)
            return status;
        draft.addressing.emplace(function, std::move(addressing));
    }
    return ok();
}

RewriteRequest rewrite_request(Draft& draft) {
    RewriteRequest request;
    request.module = &draft.module;
    request.functions = draft.functions;
    request.target = draft.target;
    request.table = &draft.table;
    request.address_register = [&draft](const ptx::Function& function, std::string_view symbol) {
        const auto found = draft.addressing.find(&function);
        return found == draft.addressing.end() ? std::string() : found->second->register_of(symbol);
    };
    request.banked_constant = [&draft](const ptx::Function& function, std::string_view register_name) {
        return draft.bank.pointed_to(function, register_name);
    };
    request.function_start = [&draft](const ptx::Function& function) {
        const auto found = draft.addressing.find(&function);
        return found == draft.addressing.end() ? std::string() : found->second->start_text();
    };
    return request;
}

/// The text, with the version that the probes need, and the bank and the table behind the head of the module.
std::string finish(Draft& draft, const Target& required) {
    const auto version = [](const Target& target) { return std::pair(target.ptx_major, target.ptx_minor); };
    if (version(required) > version(draft.target))
        draft.editor.replace(draft.module.version_range,
                             fmt::format(".version {}.{}", required.ptx_major, required.ptx_minor));
    const std::string declaration = draft.bank.declarations() + draft.table.declaration();
    if (!declaration.empty()) {
        // In front of the first function that stays: by then version, target and address size were read.
        std::unordered_set<std::string_view> kept;
        for (const auto* function : draft.functions)
            kept.insert(function->name);
        std::uint32_t first = static_cast<std::uint32_t>(draft.module.text->size());
        for (const auto& function : draft.module.functions)
            if (kept.contains(function.name))
                first = std::min(first, function.range.begin);
        draft.editor.insert_at(first, declaration);
    }
    return draft.editor.apply();
}

/// Of a request: all, or those that are not sampled.
enum class Which { all, unsampled };

bool runs(const ProbeProgram& program, Which which) {
    return which == Which::all || !program.sampled;
}

Result<RewriteResult> write_programs(Draft& draft, const CopyRequest& request, Which which, SiteNumbers& numbers) {
    RewriteRequest rewriting = rewrite_request(draft);
    rewriting.kernel_id = request.kernel_id;
    for (const auto& probe : request.programs)
        if (runs(probe, which))
            rewriting.programs.push_back({probe.object, probe.program, probe.map_base});
    rewriting.layouts = request.layouts;
    rewriting.slot_of_key = request.slot_of_key;
    rewriting.accumulator_budget = request.accumulator_budget;
    rewriting.spare_wgmma = request.spare_wgmma;
    rewriting.tensor_maps_known = request.tensor_maps_known;
    rewriting.site_numbers = &numbers;
    rewriting.number_site = [&request](const SiteDescription& site) {
        SiteRecord record;
        record.kernel_id = request.kernel_id;
        record.file = site.file;
        record.line = site.line;
        record.opcode = site.opcode;
        record.function = site.function;
        return request.new_site_id ? request.new_site_id(record) : 0;
    };
    return rewrite(rewriting, draft.editor);
}

/// Programs that are sampled have a place in this kernel.
bool needs_two_bodies(const CopyRequest& request, const RewriteResult& rewritten) {
    for (std::size_t at = 0; at < request.programs.size(); ++at)
        if (request.programs[at].sampled && rewritten.outcomes[at].sites != 0)
            return !request.sampling.is_all();
    return false;
}

/// From the body with all programs to the copy with both. The table has the words of both before either is written.
Status add_other_body(Draft& draft, const RewriteResult& rewritten, const CopyRequest& request, SiteNumbers& numbers,
                      InstrumentedCopy& copy) {
    Draft others(draft.module, draft.table);
    if (auto status = begin(others, request.entry, request.constants_in_bank); !status)
        return status;
    auto plain = write_programs(others, request, Which::unsampled, numbers);
    if (!plain)
        return plain.errors();
    auto joined = join_bodies(finish(others, plain->required), finish(draft, rewritten.required), request.entry,
                              request.sampling);
    if (!joined)
        return joined.errors();
    copy.ptx = std::move(joined->ptx);
    copy.bodies = 2;
    copy.warps_of_a_group = joined->warps_of_a_group;
    copy.accumulators = std::max(copy.accumulators, plain->accumulators);  // they are never in registers at one time
    copy.instructions_added += plain->instructions_added + joined->instructions;
    copy.planning += plain->planning;
    return ok();
}

}  // namespace

Result<InstrumentedCopy> build_copy(const CopyRequest& request) {
    Table table;
    SiteNumbers numbers;
    Draft draft(*request.module, table);
    if (auto status = begin(draft, request.entry, request.constants_in_bank); !status)
        return status.errors();
    auto rewritten = write_programs(draft, request, Which::all, numbers);
    if (!rewritten)
        return rewritten.errors();

    InstrumentedCopy copy;
    copy.sites = rewritten->sites;
    copy.accumulators = rewritten->accumulators;
    copy.instructions_added = rewritten->instructions_added;
    copy.planning = rewritten->planning;
    if (!needs_two_bodies(request, *rewritten))
        copy.ptx = finish(draft, rewritten->required);
    else if (auto status = add_other_body(draft, *rewritten, request, numbers, copy); !status)
        return status.errors();
    copy.table = table.entries();
    copy.bank = draft.bank.variables();
    for (std::size_t at = 0; at < request.programs.size(); ++at)
        copy.outcomes.push_back(
            {request.programs[at].probe, rewritten->outcomes[at].sites, std::move(rewritten->outcomes[at].notes)});
    return copy;
}

Result<std::string> reassembled_copy(const ptx::Module& module, const std::string& entry) {
    Table table;
    Draft draft(module, table);
    if (auto status = begin(draft, entry, true); !status)
        return status.errors();
    auto rewritten = rewrite(rewrite_request(draft), draft.editor);
    if (!rewritten)
        return rewritten.errors();
    return finish(draft, rewritten->required);
}

}  // namespace egpu::inject
