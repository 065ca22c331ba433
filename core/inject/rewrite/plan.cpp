// SPDX-License-Identifier: Apache-2.0
// From programs to firings. A program that doesn't read a site field is specialised once for all sites that differ
// only in it.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/names.hpp"
#include "ebpf/events/known.hpp"
#include "ebpf/recheck/recheck.hpp"
#include "inject/rewrite/firing.hpp"

namespace egpu::inject {
namespace {

using ptx::AccessSpace;

using Fields = std::set<std::string_view>;

/// Fields of the context that the site's instruction doesn't say.
Fields unsaid_fields(const Site& site, ebpf::Event event) {
    constexpr std::uint32_t kSector = 32;
    const auto& access = site.access;
    const bool constant = access.bytes == ptx::MemoryAccess::Bytes::constant;
    Fields fields;
    if (access.bytes == ptx::MemoryAccess::Bytes::unknown ||
        (event != ebpf::Event::async_copy && (!constant || access.bytes_per_lane() > ebpf::kLargestBytesPerLane)))
        fields = {"bytes", "bytes_per_lane"};
    if (access.address_operand < 0 || !access.address_of_lane)
        fields.insert({"address", "sectors"});
    // A lane's access is taken to lie in one sector.
    if (!constant || access.bytes_per_lane() == 0 || access.bytes_per_lane() > kSector)
        fields.insert("sectors");
    if (access.space == AccessSpace::shared || access.space == AccessSpace::constant)
        fields.erase("sectors");  // there are none
    if (access.space == AccessSpace::texture)
        fields.insert({"space", "sectors"});
    return fields;
}

/// What a specialisation depends on: (program, site number or 0, space, access, bytes, fields that are no constants).
using Variant = std::tuple<std::size_t, std::uint32_t, ebpf::Space, ebpf::Access, std::uint32_t, Fields>;

class Planner {
public:
    explicit Planner(const RewriteRequest& request)
        : request_(request), numbers_(request.site_numbers != nullptr ? *request.site_numbers : own_numbers_) {
        plan_.outcomes.resize(request.programs.size());
    }

    Result<Plan> make() {
        for (std::size_t program = 0; program < request_.programs.size(); ++program) {
            const auto& point = request_.programs[program].program->point;
            if (!point.kernel_pattern.empty() &&
                !kernel_name_matches(point.kernel_pattern, request_.functions.front()->name))
                continue;
            Matches matches = find_sites(*request_.module, request_.functions, point);
            plan_.outcomes[program].notes = std::move(matches.notes);
            if (counts_copies_too(program))
                std::erase_if(plan_.outcomes[program].notes,
                              [](const Diagnostic& note) { return note.code == "EGPU-P250"; });
            reads_site_ = reads_field(program, "site");
            reads_space_ = reads_field(program, "space");
            unsaid_.clear();
            for (Site& site : matches.sites) {
                settle_bytes(site.access);
                if (auto status = add_site(program, site); !status)
                    return status.errors();
            }
            note_unsaid(plan_.outcomes[program].notes);
        }
        if (auto alone = searches_alone(); !alone)
            return alone.errors();
        return std::move(plan_);
    }

private:
    /// Sites at which a program does not run.
    struct Unsaid {
        std::set<std::string> opcodes;
        std::uint32_t sites = 0;
    };

    /// Lanes leave a search in a hash one by one, and what lanes find out together at a later place (PTX activemask)
    /// was wrong there, on an H200: sums lacked 1 lane in 5,000, sectors were counted by pieces of a warp. So no kernel
    /// has both.
    Status searches_alone() {
        const Firing *search = nullptr, *together = nullptr;
        for (const Firing& firing : plan_.firings) {
            if (search == nullptr && searches(*firing.specialized))
                search = &firing;
            if (together == nullptr && asks_together(firing))
                together = &firing;
        }
        plan_.parts_lanes = search != nullptr;
        if (search == nullptr || together == nullptr)
            return ok();
        const auto name = [&](const Firing* firing) { return request_.programs[firing->program].program->name; };
        return error(
            "EGPU-P238",
            fmt::format("program '{}' looks up keys that are known only at run time, and '{}' asks what lanes do "
                        "together: a kernel can't have both",
                        name(search), name(together)),
            "run them in two sessions, or use keys of fields that are the same every time at a site");
    }

    static bool searches(const ebpf::SpecializedProgram& program) {
        for (std::uint32_t at = 0; at < program.instructions.size(); ++at)
            if (program.facts[at].needed && program.searches(at))
                return true;
        return false;
    }

    /// True for a program that one lane runs for its warp or a thread for its grid, or that reads what its lanes have
    /// in common.
    bool asks_together(const Firing& firing) const {
        if (firing.specialized->empty)
            return false;
        if (request_.programs[firing.program].program->point.granularity != ebpf::Granularity::thread)
            return true;
        const auto& fields = firing.specialized->fields_read;
        return fields.contains("active_mask") || fields.contains("active_lanes") || fields.contains("sectors");
    }

    /// Another program of the same object is at asynchronous copies: this one need not say that it isn't.
    bool counts_copies_too(std::size_t program) const {
        return std::any_of(request_.programs.begin(), request_.programs.end(), [&](const AttachedProgram& other) {
            return other.object == request_.programs[program].object &&
                   other.program->point.event == ebpf::Event::async_copy;
        });
    }

    /// What a tensor map holds is read when the copy is started, where the driver's layout of maps is known.
    void settle_bytes(ptx::MemoryAccess& access) const {
        using Bytes = ptx::MemoryAccess::Bytes;
        if (access.bytes == Bytes::in_tensor_map)
            access.bytes = request_.tensor_maps_known ? Bytes::at_run_time : Bytes::unknown;
    }

    Status add_site(std::size_t program, const Site& site) {
        const auto event = request_.programs[program].program->point.event;
        if (ebpf::context_of(event) == ebpf::ContextKind::mem && asks_for_unsaid(program, site))
            return ok();
        ++plan_.outcomes[program].sites;
        const std::uint32_t number = number_of(site, event);
        const bool generic =
            ebpf::context_of(event) == ebpf::ContextKind::mem && site.access.space == AccessSpace::generic;
        if (site.tested_space)
            return add_firing(program, site, number, {SpaceTest::Kind::in_space, *site.tested_space},
                              to_space(*site.tested_space));
        if (!generic || !reads_space_)
            return add_firing(program, site, number, {}, to_space(site.access.space));
        // The program asks for the space: one firing for each space that a generic address can be in.
        for (const auto space : {AccessSpace::global, AccessSpace::shared, AccessSpace::local})
            if (auto status = add_firing(program, site, number, {SpaceTest::Kind::in_space, space}, to_space(space));
                !status)
                return status;
        return add_firing(program, site, number, {SpaceTest::Kind::elsewhere, AccessSpace::generic},
                          ebpf::Space::generic);
    }

    Status add_firing(std::size_t program, const Site& site, std::uint32_t number, SpaceTest test, ebpf::Space space) {
        auto specialized = specialized_for(program, site, number, space);
        if (!specialized)
            return specialized.errors();
        plan_.firings.push_back({program, site, number, test, space, std::move(*specialized)});
        return ok();
    }

    /// Sites of several programs at one instruction have one number; a block has another than its first instruction.
    std::uint32_t number_of(const Site& site, ebpf::Event event) {
        const bool at_instruction = site.instruction != nullptr;
        const bool is_block = event == ebpf::Event::basic_block;
        const SitePlace place{site.function,
                              {site.instruction, at_instruction && !is_block ? ebpf::Event::mem : event}};
        const auto found = numbers_.find(place);
        if (found != numbers_.end())
            return found->second;
        SiteDescription description;
        description.file = std::string(request_.module->file_name(site.source.file));
        description.line = site.source.line;
        description.opcode = at_instruction && !is_block ? std::string(site.instruction->opcode) : ebpf::to_name(event);
        description.function = std::string(site.function->name);
        const std::uint32_t number = request_.number_site ? request_.number_site(description) : 0;
        numbers_.emplace(place, number);
        return number;
    }

    ebpf::SiteConstants constants_of(std::size_t program, const Site& site, std::uint32_t number,
                                     ebpf::Space space) const {
        ebpf::SiteConstants constants;
        constants.fields["kernel"] = request_.kernel_id;
        constants.fields["site"] = number;
        const auto event = request_.programs[program].program->point.event;
        if (ebpf::context_of(event) == ebpf::ContextKind::mem) {
            constants.fields["space"] = static_cast<std::uint64_t>(space);
            constants.fields["access"] = static_cast<std::uint64_t>(to_access(site.access));
            constants.fields["bytes_per_lane"] = site.access.bytes_per_lane();
            if (site.access.bytes == ptx::MemoryAccess::Bytes::at_run_time)
                constants.fields.erase("bytes_per_lane");
            for (const auto field : unsaid_fields(site, event))
                if (const auto known = constants.fields.find(field); known != constants.fields.end())
                    constants.fields.erase(known);
        }
        return constants;
    }

    ebpf::SlotOfKey slots_for(std::size_t program) const {
        const std::uint32_t base = request_.programs[program].map_base;
        return [this, base](std::uint32_t map, std::span<const std::byte> key) {
            return request_.slot_of_key(base + map, key);
        };
    }

    Result<std::shared_ptr<const ebpf::SpecializedProgram>> specialized_for(std::size_t program, const Site& site,
                                                                            std::uint32_t number, ebpf::Space space) {
        const Variant variant = variant_of(program, site, number, space);
        if (const auto found = specialized_.find(variant); found != specialized_.end())
            return found->second;
        const auto& attached = request_.programs[program];
        const auto constants = constants_of(program, site, number, space);
        auto result = ebpf::specialize(*attached.object, *attached.program, constants, slots_for(program));
        if (!result)
            return result.errors();
        if (auto checked = rechecks_[program].check_new(*result, constants); !checked)
            return checked.errors();
        auto shared = std::make_shared<const ebpf::SpecializedProgram>(std::move(*result));
        specialized_.emplace(variant, shared);
        return std::shared_ptr<const ebpf::SpecializedProgram>(std::move(shared));
    }

    Variant variant_of(std::size_t program, const Site& site, std::uint32_t number, ebpf::Space space) const {
        Fields fields = unsaid_fields(site, request_.programs[program].program->point.event);
        if (site.access.bytes == ptx::MemoryAccess::Bytes::at_run_time)
            fields.insert("bytes_per_lane");
        return {program,          reads_site_ ? number : 0, space, to_access(site.access), site.access.bytes_per_lane(),
                std::move(fields)};
    }

    /// True where the program asks for what the site's instruction doesn't say; such sites are in the notes. A program
    /// that needs as a constant what only a register says, asks for it too.
    bool asks_for_unsaid(std::size_t program, const Site& site) {
        const auto event = request_.programs[program].program->point.event;
        const bool at_run_time = site.access.bytes == ptx::MemoryAccess::Bytes::at_run_time;
        const Fields fields = unsaid_fields(site, event);
        if (fields.empty() && !at_run_time)
            return false;
        const auto [found, is_new] =
            asks_.try_emplace(variant_of(program, site, 0, to_space(site.access.space)), Fields{});
        if (is_new)
            found->second = asked_of(program, site, fields);
        if (found->second.empty())
            return false;
        Unsaid& unsaid = unsaid_[found->second];
        unsaid.opcodes.insert(std::string(site.instruction->opcode));
        ++unsaid.sites;
        return true;
    }

    /// Of the fields that aren't said, those that the program reads: each where all others are known.
    Fields asked_of(std::size_t program, const Site& site, const Fields& fields) const {
        const auto& attached = request_.programs[program];
        const auto with = [&](const ebpf::SiteConstants& constants) {
            return ebpf::specialize(*attached.object, *attached.program, constants,
                                    [](std::uint32_t, std::span<const std::byte>) { return 0u; });
        };
        const auto said = constants_of(program, site, 0, to_space(site.access.space));
        auto filled = said;
        filled.fields.try_emplace("space", 0);
        filled.fields.try_emplace("bytes_per_lane", 4);
        Fields asked;
        const auto whole = with(filled);
        if (!whole)
            return asked;  // refused for another reason, as at every other site
        for (const auto field : fields)
            if (whole->fields_read.contains(std::string(field)))
                asked.insert(field);
        for (const std::string_view field : {"space", "bytes_per_lane"}) {
            if (said.fields.contains(field))
                continue;
            auto without = filled;
            without.fields.erase(without.fields.find(field));
            const auto result = with(without);
            // A number that a register holds may be read, unless a key is made of it.
            if (!result || (fields.contains(field) && result->fields_read.contains(std::string(field))))
                asked.insert(field);
        }
        return asked;
    }

    void note_unsaid(std::vector<Diagnostic>& notes) const {
        for (const auto& [fields, unsaid] : unsaid_) {
            std::string list;
            for (const auto field : fields)
                list += (list.empty() ? "" : ", ") + std::string(field);
            notes.push_back(note("EGPU-P251",
                                 fmt::format("{} accesses are not counted: the program reads {}, which the instruction "
                                             "doesn't say ({})",
                                             unsaid.sites, list, few_of(unsaid.opcodes)),
                                 "a program that doesn't read them runs there too"));
        }
    }

    /// True where the program's text depends on a site field: without the constant it must be supplied at run time, or
    /// a key that it belongs to is no longer known. Slots asked for on the way are not the session's.
    bool reads_field(std::size_t program, std::string_view field) const {
        const auto& attached = request_.programs[program];
        ebpf::SiteConstants constants = constants_of(program, Site{}, 0, ebpf::Space::global);
        const auto known = constants.fields.find(field);
        if (known == constants.fields.end())
            return false;
        constants.fields.erase(known);
        const auto result = ebpf::specialize(*attached.object, *attached.program, constants,
                                             [](std::uint32_t, std::span<const std::byte>) { return 0u; });
        return !result || result->fields_read.contains(std::string(field));
    }

    const RewriteRequest& request_;
    Plan plan_;
    SiteNumbers own_numbers_;
    SiteNumbers& numbers_;
    std::map<Variant, std::shared_ptr<const ebpf::SpecializedProgram>> specialized_;
    std::map<std::size_t, ebpf::Recheck> rechecks_;  ///< by program: what is new in specialized_ is checked again
    std::map<Variant, Fields> asks_;                 ///< by the variant: what is asked for and not said
    std::map<Fields, Unsaid> unsaid_;                ///< of the program at hand: by what is asked for
    bool reads_site_ = true;
    bool reads_space_ = true;
};

}  // namespace

Result<Plan> make_plan(const RewriteRequest& request) {
    return Planner(request).make();
}

ebpf::Access to_access(const ptx::MemoryAccess& access) {
    switch (access.kind == ptx::AccessKind::async_copy ? access.direction : access.kind) {
        case ptx::AccessKind::store:
            return ebpf::Access::store;
        case ptx::AccessKind::atomic:
        case ptx::AccessKind::reduction:
            return ebpf::Access::atomic;
        case ptx::AccessKind::load:
        case ptx::AccessKind::async_copy:
            break;
    }
    return ebpf::Access::load;
}

ebpf::Space to_space(ptx::AccessSpace space) {
    switch (space) {
        case AccessSpace::global:
            return ebpf::Space::global;
        case AccessSpace::shared:
            return ebpf::Space::shared;
        case AccessSpace::local:
            return ebpf::Space::local;
        case AccessSpace::constant:
            return ebpf::Space::constant;
        case AccessSpace::param:
        case AccessSpace::generic:
        case AccessSpace::texture:  // no program at such a site reads the space
            break;
    }
    return ebpf::Space::generic;
}

}  // namespace egpu::inject
