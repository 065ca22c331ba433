// SPDX-License-Identifier: Apache-2.0
#include "host/view/map_users.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace egpu::host {
namespace {

const MapUse* use_of(const Catalogue& catalogue, const Probe& program, const MapData& data) {
    if (!program.maps || data.map == nullptr)
        return nullptr;
    const auto found = std::find_if(program.maps->begin(), program.maps->end(), [&](const MapUse& use) {
        return use.map < catalogue.maps.size() && catalogue.maps[use.map].name == data.map->name;
    });
    return found != program.maps->end() ? &*found : nullptr;
}

std::string program_list(const std::vector<const Probe*>& programs) {
    std::vector<std::string> names;
    for (const Probe* program : programs)
        names.push_back(program->program);
    return fmt::format("program{} {}", names.size() == 1 ? "" : "s", fmt::join(names, " and "));
}

/// A program that runs, or ran, and may write the field.
bool any_writes(const SessionView& view, const MapData& data, const ebpf::TypeField& field) {
    return std::any_of(view.catalogue.probes.begin(), view.catalogue.probes.end(), [&](const Probe& program) {
        const MapUse* use = use_of(view.catalogue, program, data);
        return use != nullptr && use->writes(field);
    });
}

}  // namespace

bool uses_map(const Catalogue& catalogue, const Probe& program, const MapData& data) {
    return program.maps ? use_of(catalogue, program, data) != nullptr : program.probe == data.probe();
}

std::vector<const Probe*> refused_users(const SessionView& view, const MapData& data) {
    std::vector<const Probe*> refused;
    for (const Probe& program : view.catalogue.probes)
        if (program.state == ProbeState::refused && use_of(view.catalogue, program, data) != nullptr)
            refused.push_back(&program);
    return refused;
}

bool counts_in_part(const SessionView& view, const MapData& data, std::uint32_t kernel_id) {
    return std::any_of(view.catalogue.probes.begin(), view.catalogue.probes.end(), [&](const Probe& program) {
        return uses_map(view.catalogue, program, data) &&
               std::find(program.in_part.begin(), program.in_part.end(), kernel_id) != program.in_part.end();
    });
}

std::string refused_text(const std::vector<const Probe*>& programs) {
    if (programs.empty())
        return {};
    return fmt::format("{} {} refused", program_list(programs), programs.size() == 1 ? "was" : "were");
}

std::string why_not_counted(const SessionView& view, const MapData& data, const ebpf::TypeField* field) {
    const auto refused = refused_users(view, data);
    if (view.coverage_of(data).covered != 0)
        return field != nullptr && !refused.empty() && !any_writes(view, data, *field) ? refused_text(refused)
                                                                                       : std::string();
    if (!refused.empty())
        return refused_text(refused);
    std::vector<const Probe*> users;
    for (const Probe& program : view.catalogue.probes)
        if (uses_map(view.catalogue, program, data))
            users.push_back(&program);
    // No launch at all is said once, of the whole run.
    return view.launches() == 0 || users.empty() ? std::string() : program_list(users) + " ran nowhere";
}

}  // namespace egpu::host
