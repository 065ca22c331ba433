// SPDX-License-Identifier: Apache-2.0
// Probes that come and go while the application runs. A copy of a kernel holds all programs that are to run in it, so a
// change of the set is another copy; each that was built stays, and a set that comes back needs none. Programs, entries
// and maps stay as well: what was counted is never lost.
#include <algorithm>

#include <fmt/format.h>

#include "base/names.hpp"
#include "host/pipeline/eligibility.hpp"
#include "host/pipeline/pipeline.hpp"
#include "ptx/syntax/parser.hpp"

namespace egpu::host {
namespace {

bool same_shape(const ebpf::TypeShape& left, const ebpf::TypeShape& right) {
    return left.bytes == right.bytes &&
           std::equal(left.fields.begin(), left.fields.end(), right.fields.begin(), right.fields.end(),
                      [](const ebpf::TypeField& a, const ebpf::TypeField& b) {
                          return a.name == b.name && a.offset == b.offset && a.bytes == b.bytes &&
                                 a.elements == b.elements && a.is_signed == b.is_signed && a.role == b.role &&
                                 a.enumerators == b.enumerators && a.histogram == b.histogram;
                      });
}

bool same_maps(const ebpf::Object& left, const ebpf::Object& right) {
    return std::equal(left.maps.begin(), left.maps.end(), right.maps.begin(), right.maps.end(),
                      [](const ebpf::MapDefinition& a, const ebpf::MapDefinition& b) {
                          return a.name == b.name && a.type == b.type && a.key_bytes == b.key_bytes &&
                                 a.value_bytes == b.value_bytes && a.max_entries == b.max_entries &&
                                 a.placement == b.placement && a.keys_at_run_time == b.keys_at_run_time &&
                                 a.initial == b.initial && same_shape(a.key, b.key) && same_shape(a.value, b.value);
                      });
}

/// The same programs, so that copies with the one hold the other.
bool same_programs(const ebpf::Object& left, const ebpf::Object& right) {
    return left.constants == right.constants && same_maps(left, right) &&
           std::equal(left.programs.begin(), left.programs.end(), right.programs.begin(), right.programs.end(),
                      [](const ebpf::Program& a, const ebpf::Program& b) {
                          return a.name == b.name && a.section == b.section && a.instructions == b.instructions;
                      });
}

bool any_accepted(const LoadedProbe& probe) {
    return std::any_of(probe.programs.begin(), probe.programs.end(),
                       [](const CheckedProgram& checked) { return checked.verification.has_value(); });
}

/// What the verifier said, and that nothing was changed.
std::vector<Diagnostic> refusals(const LoadedProbe& probe) {
    std::vector<Diagnostic> all;
    for (const auto& checked : probe.programs)
        all.insert(all.end(), checked.refusal.begin(), checked.refusal.end());
    all.push_back(error("EGPU-A043", fmt::format("probe {} was refused: the session goes on as it was", probe.name),
                        "egpu check -v FILE shows the verifier's whole walk"));
    return all;
}

}  // namespace

std::optional<std::uint32_t> Pipeline::latest_probe(const std::string& name) const {
    for (auto i = static_cast<std::uint32_t>(probes_.size()); i-- > 0;)
        if (probes_[i].name == name)
            return i;
    return std::nullopt;
}

std::optional<std::uint32_t> Pipeline::attached_probe(const std::string& name) const {
    const auto loaded = latest_probe(name);
    const bool active = loaded && std::any_of(programs_.begin(), programs_.end(), [&](const RunningProgram& running) {
                            return running.loaded == *loaded && running.active;
                        });
    return active ? loaded : std::nullopt;
}

Diagnostic Pipeline::unknown_probe(const std::string& name) const {
    std::vector<std::string> names;
    for (const auto& probe : probes_)
        if (attached_probe(probe.name) && std::find(names.begin(), names.end(), probe.name) == names.end())
            names.push_back(probe.name);
    Diagnostic unknown =
        error("EGPU-A041", latest_probe(name) ? fmt::format("probe {} is detached already", name)
                                              : fmt::format("no probe of the session is named '{}'", name));
    if (const std::string near = nearest(name, names); !near.empty())
        unknown.hints.push_back(fmt::format("did you mean '{}'?", near));
    unknown.hints.push_back(names.empty() ? "it has none: egpu probe add WHAT"
                                          : fmt::format("it has: {}", fmt::join(names, ", ")));
    return unknown;
}

/// Entries and maps of a probe whose successor has other maps get another name: what they hold stays.
void Pipeline::set_aside(std::uint32_t loaded) {
    const std::string old = probes_[loaded].name;
    std::uint32_t number = 1;
    while (latest_probe(fmt::format("{}~{}", old, number)))
        ++number;
    const std::string name = fmt::format("{}~{}", old, number);
    for (auto& probe : catalogue_.probes)
        if (probe.probe == old)
            probe.probe = name;
    for (auto& map : catalogue_.maps)
        if (map.name.starts_with(old + "/"))
            map.name = name + map.name.substr(old.size());
    for (auto& probe : probes_)
        if (probe.name == old)
            probe.name = name;
}

void Pipeline::set_active(std::uint32_t loaded, bool active, std::int64_t now_unix_ms) {
    for (auto& running : programs_) {
        if (running.loaded != loaded)
            continue;
        running.active = active;
        Probe& probe = catalogue_.probes[running.probe];
        if (active) {
            probe.attached_unix_ms = now_unix_ms;
            probe.detached_unix_ms = 0;
            probe.state = ProbeState::matched_nothing;
        } else {
            probe.detached_unix_ms = now_unix_ms;
            probe.state = ProbeState::detached;
        }
    }
}

/// Whether graphs hold a copy with any program that counts under this name.
bool Pipeline::stands_in_graphs(const std::string& name) const {
    for (std::uint32_t i = 0; graphs_hold_ && i < catalogue_.copies.size(); ++i) {
        const auto& probes = catalogue_.copies[i].probes;
        const bool holds_it = std::any_of(probes.begin(), probes.end(),
                                          [&](std::uint32_t index) { return catalogue_.probes[index].probe == name; });
        if (holds_it && graphs_hold_(i + 1))
            return true;
    }
    return false;
}

/// Puts a probe beside those of the session, not active where it was known; gives its index. The one of that name, if
/// any, is not active.
Result<std::uint32_t> Pipeline::take_in(LoadedProbe probe, const MapRoom& room, ProbeChange& change) {
    const auto before = latest_probe(probe.name);
    const bool same_program =
        before && probes_[*before].kernels == probe.kernels && same_programs(*probes_[*before].object, *probe.object);
    bool keeps_maps = before && same_maps(*probes_[*before].object, *probe.object);
    // What a graph goes on counting with the program before must not stand under the one that comes.
    change.graphs_hold_former = before && !same_program && stands_in_graphs(probe.name);
    keeps_maps = keeps_maps && !change.graphs_hold_former;
    change.maps = probe.object->maps.empty() ? ProbeChange::Maps::none
                  : keeps_maps               ? ProbeChange::Maps::kept
                                             : ProbeChange::Maps::fresh;
    if (same_program)
        return *before;
    std::uint32_t map_base = static_cast<std::uint32_t>(catalogue_.maps.size());
    if (keeps_maps) {
        map_base = map_bases_[*before];
    } else {
        std::vector<Map> wanted;
        for (const auto& definition : probe.object->maps)
            wanted.push_back({probe.name + "/" + definition.name, definition});
        auto layouts = room(wanted);
        if (!layouts)
            return layouts.errors();
        if (before)
            set_aside(*before);
        for (std::size_t i = 0; i < wanted.size(); ++i) {
            const auto& definition = wanted[i].definition;
            keys_.emplace_back(definition.is_array(), definition.key_bytes, definition.max_entries);
            layouts_.push_back((*layouts)[i]);
            catalogue_.maps.push_back(std::move(wanted[i]));
        }
    }
    const auto loaded = static_cast<std::uint32_t>(probes_.size());
    probes_.push_back(std::move(probe));
    map_bases_.push_back(map_base);
    add_probe_entries(loaded, map_base);
    const auto& names = catalogue_.probe_names;
    if (std::find(names.begin(), names.end(), probes_.back().name) == names.end())
        catalogue_.probe_names.push_back(probes_.back().name);
    return loaded;
}

Result<ProbeChange> Pipeline::add_probe(LoadedProbe probe, const MapRoom& room, std::int64_t now_unix_ms) {
    if (attached_probe(probe.name))
        return error("EGPU-A042", fmt::format("the session has a probe named '{}' already", probe.name),
                     fmt::format("egpu probe replace {} WHAT puts another one in its place", probe.name));
    if (!any_accepted(probe))
        return refusals(probe);
    // What its maps hold is of the same blocks or warps as what comes.
    const auto before = latest_probe(probe.name);
    probe.sampling = before ? probes_[*before].sampling : catalogue_.sampling;
    if (auto status = check_sampling(probe); !status)
        return status.errors();
    ProbeChange change;
    change.probe = probe.name;
    const auto loaded = take_in(std::move(probe), room, change);
    if (!loaded)
        return loaded.errors();
    set_active(*loaded, true, now_unix_ms);
    ProgramSet added;
    for (std::uint32_t i = 0; i < programs_.size(); ++i)
        if (programs_[i].loaded == *loaded)
            added.push_back(i);
    rebuild(added, change);
    return change;
}

Result<ProbeChange> Pipeline::restore_probe(const std::string& name, std::int64_t now_unix_ms) {
    const auto loaded = latest_probe(name);
    if (!loaded)
        return unknown_probe(name);
    // The same programs count into the maps that they had.
    const MapRoom none = [](const std::vector<Map>&) -> Result<std::vector<maps::Layout>> {
        return error("EGPU-A041", "a probe that is attached again needs no further maps");
    };
    return add_probe(probes_[*loaded], none, now_unix_ms);
}

Result<ProbeChange> Pipeline::remove_probe(const std::string& name, std::int64_t now_unix_ms) {
    const auto loaded = attached_probe(name);
    if (!loaded)
        return unknown_probe(name);
    ProbeChange change;
    change.probe = name;
    set_active(*loaded, false, now_unix_ms);
    rebuild({}, change);
    return change;
}

Result<ProbeChange> Pipeline::replace_probe(const std::string& name, LoadedProbe probe, const MapRoom& room,
                                            std::int64_t now_unix_ms) {
    const auto before = attached_probe(name);
    if (!before)
        return unknown_probe(name);
    if (!any_accepted(probe))
        return refusals(probe);
    probe.name = name;
    const auto entries = catalogue_.probes;
    set_active(*before, false, now_unix_ms);
    auto change = add_probe(std::move(probe), room, now_unix_ms);
    if (!change) {
        set_active(*before, true, now_unix_ms);
        catalogue_.probes = entries;
    }
    return change;
}

/// Each kernel gets the copy for the programs that are active now.
void Pipeline::rebuild(const ProgramSet& added, ProbeChange& change) {
    ++catalogue_.changes;
    for (auto& source : sources_)
        rebuild_source(source, added, change);
    count_places();
    for (const auto& kernel : catalogue_.kernels) {
        const auto& holds = kernel.copy != 0 ? catalogue_.copies[kernel.copy - 1].probes : std::vector<std::uint32_t>{};
        if (std::any_of(added.begin(), added.end(), [&](std::uint32_t program) {
                return std::find(holds.begin(), holds.end(), programs_[program].probe) != holds.end();
            }))
            change.attached.push_back(kernel.id);
    }
}

void Pipeline::rebuild_source(Source& source, const ProgramSet& added, ProbeChange& change) {
    std::vector<Wish> wishes;
    for (const std::uint32_t id : source.kernels)
        wishes.push_back(
            {.kernel_id = id, .programs = programs_for(catalogue_.kernels[id - 1]), .places = {}, .notes = {}});
    find_copies(source, wishes);
    // Without what was added: other probes of a kernel go on.
    std::vector<Wish> without;
    for (const auto& wish : wishes) {
        if (wish.copy)
            continue;
        Wish rest{.kernel_id = wish.kernel_id, .programs = {}, .places = {}, .notes = {}};
        std::set_difference(wish.programs.begin(), wish.programs.end(), added.begin(), added.end(),
                            std::back_inserter(rest.programs));
        without.push_back(std::move(rest));
    }
    find_copies(source, without);
    source.build.module.reset();
    auto rest = without.begin();
    for (const auto& wish : wishes)
        apply(wish, wish.copy ? wish : *rest++, change);
}

/// The kernel runs what was found for it; `granted` is the wish, or what is left of it where it could not be built.
void Pipeline::apply(const Wish& wish, const Wish& granted, ProbeChange& change) {
    Kernel& kernel = catalogue_.kernels[wish.kernel_id - 1];
    const std::uint32_t before = kernel.copy;
    const std::uint32_t now = granted.copy ? *granted.copy : 0;
    // It may have lost its copy: the agent could not take it.
    const bool changes = now != before || (kernel.state == KernelState::failed && now != 0);
    if (changes)
        runs(kernel, now);
    if (!wish.copy) {
        change.refused.emplace_back(kernel.id, first_line(wish.copy.error()));
        if (now == 0)
            could_not_build(kernel, wish);
    } else if (now == 0) {
        kernel.state = KernelState::not_matched;
        kernel.reason = !wish.programs.empty() ? "has no place that a probe asks for"
                        : before != 0          ? "its probes were removed"
                                               : "no probe names it";
        kernel.fix.clear();
        kernel.notes.clear();
    }
    if (changes && now != 0)
        change.copies.push_back(now);
    else if (changes)
        change.originals.push_back(kernel.id);
}

/// Sites and kernels of each probe, from the copies that kernels have now; of a removed one they stay as they were.
void Pipeline::count_places() {
    for (auto& probe : catalogue_.probes) {
        if (probe.state == ProbeState::detached || probe.state == ProbeState::refused)
            continue;
        probe.sites = probe.kernels = 0;
        probe.state = ProbeState::matched_nothing;
        probe.notes.clear();
        probe.in_part.clear();
    }
    for (const auto& kernel : catalogue_.kernels)
        count_places_of(kernel);
}

}  // namespace egpu::host
