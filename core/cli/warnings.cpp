// SPDX-License-Identifier: Apache-2.0
// What a run must not keep to itself: probes that ran nowhere, totals that are not whole.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/names.hpp"
#include "base/patterns.hpp"
#include "base/units.hpp"
#include "cli/run_report.hpp"
#include "host/view/live_view.hpp"
#include "host/view/map_users.hpp"

namespace egpu::cli {
namespace {

using host::KernelState;
using host::ProbeState;
using host::SessionView;

Diagnostic warning(const char* code, std::string message, std::string hint = {}) {
    Diagnostic made = error(code, std::move(message), std::move(hint));
    made.severity = Severity::warning;
    return made;
}

std::vector<std::string> launched_names(const SessionView& view) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < view.catalogue.kernels.size(); ++i)
        if (view.counts[i].launches != 0)
            names.push_back(view.catalogue.kernels[i].name);
    return names;
}

/// "Launched: vector_add (1 000), scan (2)."
std::string launched_text(const SessionView& view) {
    constexpr std::size_t kMost = 5;
    std::string text;
    std::size_t shown = 0, all = 0;
    for (std::size_t i = 0; i < view.catalogue.kernels.size(); ++i) {
        if (view.counts[i].launches == 0 || all++ >= kMost)
            continue;
        text += fmt::format("{}{} ({})", shown++ == 0 ? "" : ", ", view.catalogue.kernels[i].name,
                            format_count(view.counts[i].launches));
    }
    if (all > shown)
        text += fmt::format(", {} more", all - shown);
    return text.empty() ? "No kernel was launched." : "Launched: " + text + ".";
}

/// For a pattern that no launched kernel matches.
std::string hint_for_pattern(const SessionView& view, const std::string& pattern) {
    const auto near = nearest(pattern, launched_names(view));
    return (near.empty() ? std::string() : fmt::format("did you mean '{}'? ", near)) + launched_text(view);
}

/// What each was to be, and once what there is.
std::vector<std::string> hints_for_patterns(const SessionView& view, const std::vector<std::string>& patterns) {
    std::vector<std::string> hints;
    const auto names = launched_names(view);
    for (std::size_t i = 0; i + 1 < patterns.size(); ++i)
        if (const auto near = nearest(patterns[i], names); !near.empty())
            hints.push_back(fmt::format("'{}': did you mean '{}'?", patterns[i], near));
    if (patterns.size() > 1) {
        const auto near = nearest(patterns.back(), names);
        hints.push_back((near.empty() ? "" : fmt::format("'{}': did you mean '{}'? ", patterns.back(), near)) +
                        launched_text(view));
    } else {
        hints.push_back(hint_for_pattern(view, patterns.front()));
    }
    return hints;
}

bool any_launched_matches(const SessionView& view, const std::string& pattern) {
    for (std::size_t i = 0; i < view.catalogue.kernels.size(); ++i)
        if (view.counts[i].launches != 0 && kernel_pattern_matches(pattern, view.catalogue.kernels[i].mangled))
            return true;
    return false;
}

/// The kernel pattern of a section, "" where it has none.
std::string section_pattern(const std::string& section) {
    const auto point = ebpf::parse_section(section);
    return point ? point->kernel_pattern : std::string();
}

/// Selections that narrow a probe: the command line's, its set's, its own.
std::vector<host::KernelSelection> selections_of(const host::Probe& probe, const host::KernelSelection& selection) {
    auto all = probe.selections;
    all.insert(all.begin(), selection);
    return all;
}

/// The patterns of one place of which no launched kernel matches any; none where there is no such place.
host::KernelSelection unmatched_patterns(const SessionView& view, const host::Probe& probe,
                                         const host::KernelSelection& selection) {
    std::string own = section_pattern(probe.section);
    if (!own.empty() && !any_launched_matches(view, own))
        return {{own}, {}, {}};
    for (const auto& each : selections_of(probe, selection))
        if (!each.include.empty() && std::none_of(each.include.begin(), each.include.end(), [&](const auto& pattern) {
                return any_launched_matches(view, pattern);
            }))
            return each;
    return {};
}

/// True where some launched kernel is taken by all that narrows the probe.
bool any_launched_taken(const SessionView& view, const host::Probe& probe, const host::KernelSelection& selection) {
    const std::string own = section_pattern(probe.section);
    const auto selections = selections_of(probe, selection);
    for (std::size_t i = 0; i < view.catalogue.kernels.size(); ++i) {
        const std::string& mangled = view.catalogue.kernels[i].mangled;
        if (view.counts[i].launches != 0 && host::all_take(selections, mangled) &&
            (own.empty() || kernel_name_matches(own, mangled)))
            return true;
    }
    return false;
}

std::string spaces_text(const std::string& section) {
    const auto point = ebpf::parse_section(section);
    if (!point)
        return section;
    std::string text = ebpf::to_name(point->event);
    if (point->space)
        text += fmt::format(".{}", ebpf::to_name(*point->space));
    return text;
}

bool holds(const SessionView& view, const host::Copy& copy, const host::Probe& probe) {
    const auto index = static_cast<std::uint32_t>(&probe - view.catalogue.probes.data());
    return std::find(copy.probes.begin(), copy.probes.end(), index) != copy.probes.end();
}

/// True where the copy that the kernel is to run has this probe.
bool has_copy_with(const SessionView& view, const host::Kernel& kernel, const host::Probe& probe) {
    const auto& copies = view.catalogue.copies;
    return kernel.copy != 0 && kernel.copy <= copies.size() && holds(view, copies[kernel.copy - 1], probe);
}

/// True where a kernel's copy with this probe was never put in place.
bool waits(const SessionView& view, const host::Probe& probe) {
    const auto& kernels = view.catalogue.kernels;
    return std::any_of(kernels.begin(), kernels.end(), [&](const host::Kernel& kernel) {
        return kernel.waiting && has_copy_with(view, kernel, probe);
    });
}

/// Why launches of a kernel with a copy ran the original.
std::string missed_reason(const host::KernelCounts& count) {
    return count.captured != 0      ? "in graphs made when its copy was not to be used"
           : count.copy_reason != 0 ? host::copy_reason_text(count.copy_reason)
                                    : "before its copy was there, or after the maps' last copy";
}

/// A launched kernel that has a place for the probe, and a copy, which never ran; none: kernels' end.
std::size_t never_ran(const SessionView& view, const host::Probe& probe) {
    const auto& kernels = view.catalogue.kernels;
    std::size_t at = 0;
    while (at < kernels.size() && (view.counts[at].launches == 0 || !has_copy_with(view, kernels[at], probe)))
        ++at;
    return at;
}

/// True where its kernels were launched by graphs that did not take their copies with this probe over.
bool kept_out_by_graphs(const SessionView& view, const host::Probe& probe) {
    for (const auto& copy : view.catalogue.copies) {
        if (!holds(view, copy, probe) || view.catalogue.kernel(copy.kernel_id) == nullptr)
            continue;
        const auto& counts = view.counts[copy.kernel_id - 1];
        if (counts.former.all() != 0 || counts.captured != 0)
            return true;
    }
    return false;
}

Diagnostic nowhere(const SessionView& view, const host::Probe& probe, const host::KernelSelection& selection) {
    const std::string name = probe.probe + "/" + probe.program;
    if (waits(view, probe))
        return warning("EGPU-A027",
                       fmt::format("probe {} ran nowhere: its copies waited for a quiet moment until the end", name),
                       "they are loaded when the context is idle: after cuCtxSynchronize, or in a module load");
    if (view.catalogue.changes != 0 && kept_out_by_graphs(view, probe))
        return warning("EGPU-A029",
                       fmt::format("probe {} ran nowhere: the CUDA graphs that launched its kernels went on with what "
                                   "they held before",
                                   name),
                       "a graph follows before a launch at which its last one is over");
    if (view.launches() == 0 && view.unknown_launches != 0 && view.unanswered_images != 0)
        return warning("EGPU-A008",
                       fmt::format("probe {} ran nowhere: the instrumented copies were not ready in time", name),
                       "--wait \"10 s\" lets a module load wait longer for them");
    if (view.launches() == 0 && view.unknown_launches != 0)
        return warning(
            "EGPU-A007",
            fmt::format("probe {} ran nowhere: {} launches, all of kernels whose image the driver did not load", name,
                        format_count(view.unknown_launches)),
            "without a GPU programs need PTX: egpu kernels FILE says what a program holds");
    if (view.launches() == 0)
        return warning("EGPU-A004", fmt::format("probe {} ran nowhere: no kernel was launched", name));
    if (const auto unmatched = unmatched_patterns(view, probe, selection); !unmatched.include.empty()) {
        Diagnostic said = warning("EGPU-A004", fmt::format("probe {} ran nowhere: no launched kernel matches '{}'",
                                                           name, fmt::join(unmatched.include, "' or '")));
        said.where = unmatched.where;
        said.hints = hints_for_patterns(view, unmatched.include);
        return said;
    }
    if (!any_launched_taken(view, probe, selection))
        return warning("EGPU-A004", fmt::format("probe {} ran nowhere: its patterns leave no launched kernel", name),
                       "patterns of the command line, the probe set, the probe and its SEC narrow each other; " +
                           launched_text(view));
    const std::size_t at = never_ran(view, probe);
    if (at < view.catalogue.kernels.size() && view.counts[at].left_out >= view.counts[at].launches)
        return warning("EGPU-A034",
                       fmt::format("probe {} ran nowhere: all {} launches of {} lie outside the chosen ones", name,
                                   format_count(view.counts[at].launches), view.catalogue.kernels[at].name),
                       "--launch-skip, --launch-count, or 'launches' of the probe set");
    if (at < view.catalogue.kernels.size() && probe.attached_unix_ms != 0 && view.counts[at].copy_reason == 0)
        return warning("EGPU-A027", fmt::format("probe {} ran nowhere: {} was not launched after its copy was there",
                                                name, view.catalogue.kernels[at].name));
    if (at < view.catalogue.kernels.size())
        return warning("EGPU-A028", fmt::format("probe {} ran nowhere: every launch of {} ran the original ({})", name,
                                                view.catalogue.kernels[at].name, missed_reason(view.counts[at])));
    const std::string own = section_pattern(probe.section);
    const host::Kernel* lost = nullptr;
    bool reachable = false;
    for (std::size_t i = 0; i < view.catalogue.kernels.size(); ++i) {
        const auto& kernel = view.catalogue.kernels[i];
        if (view.counts[i].launches == 0 || !host::all_take(selections_of(probe, selection), kernel.mangled) ||
            (!own.empty() && !kernel_name_matches(own, kernel.mangled)))
            continue;
        if (kernel.state == KernelState::instrumented || kernel.state == KernelState::not_matched)
            reachable = true;
        else if (lost == nullptr)
            lost = &kernel;
    }
    if (!reachable && lost != nullptr)
        return warning("EGPU-A005",
                       fmt::format("probe {} ran nowhere: no launched kernel can be instrumented ({}: {})", name,
                                   lost->name, lost->reason),
                       "egpu kernels -- PROGRAM lists every kernel with its reason");
    return warning(
        "EGPU-A006",
        fmt::format("probe {} ran nowhere: no launched kernel has a place for {}", name, spaces_text(probe.section)),
        launched_text(view));
}

/// Probes that came or went while another one kept their kernel instrumented: what they say is of some launches only.
void add_partly_covered(const SessionView& view, std::vector<Diagnostic>& warnings) {
    std::vector<std::string> seen;  // a probe has an entry for each of its programs
    for (const auto& probe : view.catalogue.probes) {
        if (std::find(seen.begin(), seen.end(), probe.probe) != seen.end())
            continue;
        seen.push_back(probe.probe);
        for (std::size_t i = 0; view.catalogue.changes != 0 && i < view.catalogue.kernels.size(); ++i) {
            const auto& kernel = view.catalogue.kernels[i];
            const auto part = view.coverage(probe.probe, kernel.id);
            if (part.covered != 0 && part.covered < view.counts[i].instrumented)
                warnings.push_back(warning(
                    "EGPU-A026",
                    fmt::format("values of {} for {} are of {} of its {} launches: probes were "
                                "added or removed while it ran",
                                probe.probe, kernel.name, format_count(part.covered), format_count(part.launches))));
        }
    }
}

std::string why_former(const host::FormerLaunches& former) {
    std::string text;
    const auto add = [&](std::uint64_t launches, const char* why) {
        if (launches != 0)
            text += fmt::format("{}{} {}", text.empty() ? "" : ", ", format_count(launches), why);
    };
    add(former.busy, "while the graph was busy");
    add(former.no_source, "as the graph it was made from is gone");
    add(former.changed, "as the application had changed its nodes");
    add(former.refused, "as the driver refused the change");
    return text;
}

/// The probes whose copies graphs went on with: "bandwidth, stores~1".
std::string former_probes(const SessionView& view, std::uint32_t kernel_id) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < view.copies.size(); ++i) {
        if (view.catalogue.copies[i].kernel_id != kernel_id || view.copies[i].former.all() == 0)
            continue;
        for (const std::uint32_t index : view.catalogue.copies[i].probes)
            if (index < view.catalogue.probes.size() &&
                std::find(names.begin(), names.end(), view.catalogue.probes[index].probe) == names.end())
                names.push_back(view.catalogue.probes[index].probe);
    }
    return fmt::format("{}", fmt::join(names, ", "));
}

/// Launches of copies that were to run no more: by graphs that did not follow a change of the probes.
void add_former_launches(const SessionView& view, std::vector<Diagnostic>& warnings) {
    for (std::size_t i = 0; i < view.catalogue.kernels.size(); ++i) {
        const auto& former = view.counts[i].former;
        if (former.all() != 0)
            warnings.push_back(warning(
                "EGPU-A029",
                fmt::format("{} launches of {} went on after the probes changed, in CUDA graphs that still held the "
                            "copy before ({}): they count under what it holds: {}",
                            format_count(former.all()), view.catalogue.kernels[i].name, why_former(former),
                            former_probes(view, static_cast<std::uint32_t>(i) + 1))));
    }
}

/// Launches of instrumented kernels that ran the original, by kernel.
void add_missed_launches(const SessionView& view, std::vector<Diagnostic>& warnings) {
    for (std::size_t i = 0; i < view.catalogue.kernels.size(); ++i) {
        const auto& kernel = view.catalogue.kernels[i];
        const auto& count = view.counts[i];
        // Launches that --sample or --overhead leaves out are no loss: every figure says how many launches it stands
        // for.
        const std::uint64_t expected = count.launches - std::min(count.left_out, count.launches);
        if (kernel.state != KernelState::instrumented || expected <= count.instrumented)
            continue;
        const std::uint64_t missed = expected - count.instrumented;
        if (view.catalogue.changes != 0) {
            warnings.push_back(warning(
                "EGPU-A026", fmt::format("values of {} are of {} of its {} launches: probes were added or "
                                         "removed while it ran",
                                         kernel.name, format_count(count.instrumented), format_count(count.launches))));
            continue;
        }
        warnings.push_back(warning(
            "EGPU-A022", fmt::format("totals of {} are at least: {} of {} launches ran the original ({})", kernel.name,
                                     format_count(missed), format_count(count.launches), missed_reason(count))));
    }
}

/// A probe attached in kernels of which none was launched counted nothing either.
bool ran(const SessionView& view, const host::Probe& probe) {
    if (view.catalogue.changes != 0)
        return view.coverage(probe.probe).covered != 0;
    return probe.state != ProbeState::matched_nothing && view.instrumented_launches() != 0;
}

}  // namespace

Diagnostic nowhere_warning(const SessionView& view, const host::Probe& probe) {
    return nowhere(view, probe, {});
}

std::vector<Diagnostic> nowhere_warnings(const SessionView& view, const host::KernelSelection& selection) {
    std::vector<Diagnostic> warnings;
    for (const auto& probe : view.catalogue.probes) {
        if (probe.state == ProbeState::refused || probe.state == ProbeState::failed ||
            probe.state == ProbeState::detached || ran(view, probe))
            continue;
        warnings.push_back(nowhere(view, probe, selection));
    }
    return warnings;
}

std::vector<Diagnostic> refused_warnings(const SessionView& view) {
    std::vector<Diagnostic> warnings;
    for (const auto& probe : view.catalogue.probes) {
        if (probe.state != ProbeState::refused)
            continue;
        std::vector<std::string> shared, unknown;
        for (const auto& data : view.maps) {
            const auto refused = host::refused_users(view, data);
            if (std::find(refused.begin(), refused.end(), &probe) != refused.end())
                (host::why_not_counted(view, data).empty() ? shared : unknown).push_back(data.map->name);
        }
        std::string text = fmt::format("program {}/{} was refused and counted nothing", probe.probe, probe.program);
        if (!unknown.empty())
            text += fmt::format("; not known: {}", fmt::join(unknown, ", "));
        if (!shared.empty())
            text += fmt::format("; only what others counted is in {}", fmt::join(shared, ", "));
        warnings.push_back(warning("EGPU-A036", text, "the refusal says what to change; --strict takes no such probe"));
    }
    return warnings;
}

std::vector<Diagnostic> mistyped_kernel_warnings(const SessionView& view, const host::KernelSelection& selection) {
    std::vector<Diagnostic> warnings;
    const auto matches = [&](const std::string& pattern) { return any_launched_matches(view, pattern); };
    // Where none matches, the probes ran nowhere, and that is said.
    if (!std::any_of(selection.include.begin(), selection.include.end(), matches))
        return warnings;
    for (const auto& pattern : selection.include)
        if (!matches(pattern))
            warnings.push_back(warning("EGPU-A004", fmt::format("no launched kernel matches '{}'", pattern),
                                       hint_for_pattern(view, pattern)));
    return warnings;
}

/// Of a ring buffer that did not pass on all that was sent.
static void add_lost_records(const host::MapData& data, std::vector<Diagnostic>& warnings) {
    const host::RingCounts& ring = *data.ring;
    const bool is_printed = !data.map->definition.formats.empty();
    if (ring.damaged)
        warnings.push_back(warning("EGPU-M023",
                                   fmt::format("ring buffer {} held bytes that are no record: none were read from then "
                                               "on",
                                               data.map->name),
                                   "something else wrote to its memory"));
    if (ring.dropped != 0)
        warnings.push_back(
            warning("EGPU-M021",
                    fmt::format("{} of ring buffer {} were dropped: it was full", counted(ring.dropped, "record"),
                                data.map->name),
                    is_printed ? "print less often: once a warp, or one in N"
                               : "raise its max_entries, which are bytes, or send fewer: once a warp, or one in N"));
    if (ring.behind != 0)
        warnings.push_back(warning("EGPU-M022",
                                   fmt::format("{} of records of ring buffer {} were on the GPU and were not read",
                                               format_memory(ring.behind), data.map->name),
                                   "the program ended, or egpu was suspended, before they were"));
}

std::vector<Diagnostic> completeness_warnings(const SessionView& view) {
    std::vector<Diagnostic> warnings;
    if (view.agent_pid == 0)
        return warnings;
    if (!view.agent_error.empty())
        warnings.push_back(warning("EGPU-A020", view.agent_error));
    if (!view.drained && view.launches() != 0)
        warnings.push_back(
            warning("EGPU-A021",
                    view.last_drain_age_ns
                        ? fmt::format("totals are at least: the application ended without a final copy of the maps "
                                      "(the last one {} before)",
                                      format_duration_ns(static_cast<double>(*view.last_drain_age_ns)))
                        : std::string("no totals: the application ended before the maps were copied once")));
    add_partly_covered(view, warnings);
    add_missed_launches(view, warnings);
    add_former_launches(view, warnings);
    if (view.unanswered_images != 0)
        warnings.push_back(
            warning("EGPU-A009",
                    fmt::format("{} module loads went on before their instrumented copies were ready: their "
                                "kernels ran as originals until those came, totals are at least",
                                view.unanswered_images),
                    "--wait \"10 s\" lets a load wait longer"));
    if (view.unknown_launches != 0)
        warnings.push_back(
            warning("EGPU-A023",
                    fmt::format("{} launches were of kernels whose image the driver did not load, or egpu has not seen",
                                format_count(view.unknown_launches))));
    if (view.unasked_launches != 0)
        warnings.push_back(warning(
            "EGPU-A031", fmt::format("{} launches ran the original and are counted only where they were captured: the "
                                     "driver did not say whether they were",
                                     format_count(view.unasked_launches))));
    if (view.partly_counted_graphs != 0)
        warnings.push_back(
            warning("EGPU-A026",
                    fmt::format("{} graph launches may have run more kernels than were counted: conditional nodes, "
                                "or graphs that the GPU can launch",
                                format_count(view.partly_counted_graphs))));
    if (view.not_followed_launches != 0)
        warnings.push_back(
            warning("EGPU-A035", fmt::format("about {} launches were not followed to their last thread, since launches "
                                             "that ran at one time came to one place: programs once a grid did not run "
                                             "for them",
                                             format_count(view.not_followed_launches))));
    for (const auto& data : view.maps)
        if (data.ring)
            add_lost_records(data, warnings);
    for (const auto& data : view.maps)
        if (data.is_full())
            warnings.push_back(warning(
                "EGPU-M020",
                fmt::format("map {} is full: {} not counted", data.map->name,
                            data.refused_lookups != 0 ? counted(data.refused_lookups, "look-up") + " of other keys are"
                                                      : fmt::format("{} keys were", format_count(data.refused_keys))),
                "raise its max_entries"));
    if (view.other_processes != 0)
        warnings.push_back(
            warning("EGPU-A024", fmt::format("{} other process(es) of the application used CUDA and were not "
                                             "observed: this version observes the first",
                                             view.other_processes)));
    for (const auto& probe : view.catalogue.probes)
        for (const auto& note : probe.notes)
            warnings.push_back(warning("EGPU-A025", fmt::format("probe {}/{}: {}", probe.probe, probe.program, note)));
    return warnings;
}

}  // namespace egpu::cli
