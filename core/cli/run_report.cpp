// SPDX-License-Identifier: Apache-2.0
#include "cli/run_report.hpp"

#include <string.h>

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/names.hpp"
#include "base/units.hpp"
#include "cli/cost_report.hpp"
#include "cli/map_watch.hpp"
#include "cli/terminal.hpp"
#include "host/findings/findings.hpp"
#include "host/findings/metrics.hpp"
#include "host/view/map_users.hpp"

namespace egpu::cli {
namespace {

using host::Kernel;
using host::KernelState;
using host::SessionView;

constexpr std::size_t kMostKernelRows = 10;
constexpr std::size_t kMostFindings = 3;
constexpr std::size_t kLineWidth = 90;

std::string counted(std::uint64_t count, const char* word) {
    return fmt::format("{} {}{}", format_count(count), word,
                       count == 1 ? "" : (word[strlen(word) - 1] == 'h' ? "es" : "s"));
}

std::string program_name(const SessionView& view) {
    if (!view.program.empty() && view.program != "egpu-workload")
        return view.program;
    const auto& command = view.catalogue.command;
    const auto last_part = [](const std::string& path) { return path.substr(path.rfind('/') + 1); };
    // The bundled workloads are known by the name that selects them, also behind env, timeout and the like.
    if (!view.program.empty()) {
        const auto at = std::find_if(command.begin(), command.end(),
                                     [&](const std::string& word) { return last_part(word) == view.program; });
        return command.end() - at > 1 ? at[1] : view.program;
    }
    return command.empty() ? "the application" : last_part(command[0]);
}

std::string how_it_ended(const host::RunFacts& facts) {
    if (!facts.ended)
        return "still runs";
    if (facts.ending.signal)
        return fmt::format("was ended by signal {} ({})", *facts.ending.signal, ::strsignal(*facts.ending.signal));
    return fmt::format("exited with {}", facts.ending.exit_code);
}

std::uint64_t launched_kernels(const SessionView& view) {
    return static_cast<std::uint64_t>(
        std::count_if(view.counts.begin(), view.counts.end(), [](const auto& count) { return count.launches != 0; }));
}

std::uint64_t refused_programs(const SessionView& view) {
    const auto& programs = view.catalogue.probes;
    return static_cast<std::uint64_t>(std::count_if(programs.begin(), programs.end(), [](const host::Probe& program) {
        return program.state == host::ProbeState::refused;
    }));
}

std::string first_line(const SessionView& view, const host::RunFacts& facts) {
    const auto& begin = fmt::format("{} {} after {:.1f} s; ", program_name(view), how_it_ended(facts), facts.elapsed_s);
    if (view.agent_pid == 0)
        return begin + "it used no CUDA";
    std::string line = begin + fmt::format("{}, {}", counted(launched_kernels(view), "kernel"),
                                           counted(view.launches() + view.unknown_launches, "launch"));
    if (view.catalogue.maps.empty())
        return line;
    if (view.launches() != 0 && view.instrumented_launches() == view.launches() && view.unknown_launches == 0)
        line += ", all instrumented";
    else
        line += fmt::format(", {} of them instrumented", format_count(view.instrumented_launches()));
    if (view.catalogue.sample_launches > 1)
        line +=
            fmt::format(" (--sample: one launch in {} of each kernel)", format_count(view.catalogue.sample_launches));
    else if (view.left_out_launches() != 0 && !view.catalogue.measure_overhead)
        line += fmt::format(" ({} lie outside the chosen launches of their kernel)",
                            format_count(view.left_out_launches()));
    else if (view.left_out_launches() != 0)
        line +=
            fmt::format(" (--overhead: {} ran the original, to be compared)", format_count(view.left_out_launches()));
    const std::uint64_t refused = view.refused_keys(), lookups = view.refused_lookups(),
                        records = view.dropped_records();
    if (const auto programs = refused_programs(view); programs != 0)
        line +=
            fmt::format(", {} of {} refused", format_count(programs), counted(view.catalogue.probes.size(), "program"));
    else if (refused == 0 && lookups == 0 && records == 0 && view.drained)
        line += ", nothing dropped";
    if (refused != 0)
        line += fmt::format(", {} dropped", counted(refused, "key"));
    if (records != 0)
        line += fmt::format(", {} dropped", counted(records, "record"));
    return line + (lookups == 0 ? "" : fmt::format(", {} dropped", counted(lookups, "look-up")));
}

/// Launches by state and reason where not all were instrumented (E6.3).
void add_states(const SessionView& view, std::vector<std::string>& lines) {
    struct Group {
        std::uint64_t kernels = 0, launches = 0;
        std::uint64_t instrumented = 0;  // of kernels that have no copy any more
        KernelState state = KernelState::instrumented;
    };
    std::map<std::string, Group> groups;
    for (std::size_t i = 0; i < view.catalogue.kernels.size(); ++i) {
        const auto& kernel = view.catalogue.kernels[i];
        if (view.counts[i].launches == 0)
            continue;
        const bool was_instrumented = kernel.state == KernelState::not_matched && view.counts[i].instrumented != 0;
        auto text = was_instrumented ? std::string() : std::string(host::to_words(kernel.state));
        if (kernel.state == KernelState::instrumented)
            text += " (" + kernel.source + ")";
        else
            text += (was_instrumented ? "" : ": ") + kernel.reason;
        auto& group = groups[text];
        group.state = kernel.state;
        ++group.kernels;
        group.launches += view.counts[i].launches;
        group.instrumented += was_instrumented ? view.counts[i].instrumented : 0;
    }
    if (groups.size() < 2 && (groups.empty() || groups.begin()->second.state == KernelState::instrumented))
        return;
    TextTable table;
    table.column("kernels");
    table.column("launches");
    table.column("");
    table.column("state", Align::left);
    const auto total = static_cast<double>(std::max<std::uint64_t>(view.launches(), 1));
    for (const auto& [text, group] : groups) {
        std::string state = text;
        if (group.instrumented != 0)
            state += fmt::format(" ({} of {} launches were instrumented)", format_count(group.instrumented),
                                 group.kernels == 1 ? "its" : "their");
        table.row({format_count(group.kernels), format_count(group.launches),
                   format_percent(static_cast<double>(group.launches) / total), state});
    }
    lines.emplace_back();
    for (const auto& line : table.lines())
        lines.push_back("  " + line);
}

template <typename T, typename Format>
std::string or_na(const std::optional<T>& value, Format format) {
    return value ? format(*value) : "n/a";
}

/// "26 of 201": of how many launches the figures of a row are; where they differ in it, only the 201.
std::string launches_cell(const host::KernelCounts& counts, const host::KernelMetrics& metrics) {
    std::uint64_t covered = counts.instrumented;
    if (metrics.read_bytes || metrics.written_bytes)
        covered = metrics.traffic_launches;
    else if (metrics.sectors_per_load)
        covered = metrics.sector_launches;
    const std::string all = format_count(counts.launches);
    return metrics.differ() || covered == counts.launches ? all : fmt::format("{} of {}", format_count(covered), all);
}

/// Of the launches that were followed; "(90)" where they are not those of the launches' own column.
std::string gpu_time_cell(const host::KernelCounts& counts, const host::KernelMetrics& metrics) {
    if (!metrics.gpu_ns)
        return "n/a";
    const std::string time = format_duration_ns(static_cast<double>(*metrics.gpu_ns));
    return metrics.gpu_launches == counts.launches ? time
                                                   : fmt::format("{} ({})", time, format_count(metrics.gpu_launches));
}

/// What "each" is the mean of, and why it is a bound.
std::string times_note(const std::map<std::uint32_t, host::KernelMetrics>& metrics) {
    std::uint64_t timed = 0;
    for (const auto& [kernel, each] : metrics)
        timed += each.timed_launches;
    return fmt::format("  each: mean of {} timed, with what it takes to start them: kernels take less",
                       counted(timed, "launch"));
}

/// One row a launched, instrumented kernel, most launches first.
void add_kernels(const SessionView& view, std::vector<std::string>& lines) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < view.catalogue.kernels.size(); ++i)
        if (view.counts[i].instrumented != 0)
            order.push_back(i);
    if (order.empty())
        return;
    const auto metrics = host::kernel_metrics(view);
    // Most launches first; among equals the one that uses least of its sectors.
    const auto sector_use = [&](std::size_t index) {
        const auto found = metrics.find(view.catalogue.kernels[index].id);
        return found != metrics.end() ? found->second.sector_use.value_or(1) : 1.0;
    };
    std::stable_sort(order.begin(), order.end(), [&](auto left, auto right) {
        const auto left_launches = view.counts[left].launches, right_launches = view.counts[right].launches;
        return left_launches != right_launches ? left_launches > right_launches : sector_use(left) < sector_use(right);
    });
    const bool has_traffic =
        std::any_of(metrics.begin(), metrics.end(), [](const auto& m) { return m.second.read_bytes.has_value(); });
    const bool has_sectors = std::any_of(metrics.begin(), metrics.end(),
                                         [](const auto& m) { return m.second.sectors_per_load.has_value(); });
    const bool has_times =
        std::any_of(metrics.begin(), metrics.end(), [](const auto& m) { return m.second.launch_ns.has_value(); });
    TextTable table;
    table.column("kernel", Align::left);
    for (const char* header : {"launches", "GPU time"})
        table.column(header);
    if (has_times)
        table.column("each");
    if (has_traffic)
        for (const char* header : {"read", "written"})
            table.column(header);
    if (has_sectors)
        for (const char* header : {"sectors/load", "of each sector used"})
            table.column(header);
    if (has_times && has_traffic)
        table.column("kernel throughput");
    bool any_differ = false, any_followed = false;
    Sampling sectors_of;
    for (const std::size_t index : order) {
        if (table.rows() == kMostKernelRows)
            break;
        const auto& kernel = view.catalogue.kernels[index];
        const auto found = metrics.find(kernel.id);
        const host::KernelMetrics m = found != metrics.end() ? found->second : host::KernelMetrics{};
        // What stands in the other columns is of the instrumented launches, as measured: never scaled up.
        any_differ = any_differ || m.differ();
        if (!m.sector_sampling.is_all())
            sectors_of = m.sector_sampling;
        any_followed = any_followed || (m.gpu_ns && m.gpu_launches != view.counts[index].launches);
        const auto of = [&m](std::uint64_t launches) {
            return m.differ() ? fmt::format(" ({})", format_count(launches)) : std::string();
        };
        const auto bytes = [&](std::uint64_t value) {
            return (m.at_least ? "\u2265 " : "") + format_bytes(static_cast<double>(value)) + of(m.traffic_launches);
        };
        std::vector<std::string> cells = {kernel.name, launches_cell(view.counts[index], m),
                                          gpu_time_cell(view.counts[index], m)};
        if (has_times)
            cells.push_back(or_na(m.launch_ns, [](double ns) { return "\u2264 " + format_duration_ns(ns); }));
        if (has_traffic) {
            cells.push_back(or_na(m.read_bytes, bytes));
            cells.push_back(or_na(m.written_bytes, bytes));
        }
        if (has_sectors) {
            const auto sectors = of(m.sector_launches);
            cells.push_back(
                or_na(m.sectors_per_load, [&](double value) { return fmt::format("{:.1f}", value) + sectors; }));
            cells.push_back(or_na(m.sector_use, [&](double value) { return format_percent(value) + sectors; }));
        }
        if (has_times && has_traffic)
            cells.push_back(or_na(m.bytes_per_second, [](double rate) { return "\u2265 " + format_rate(rate); }));
        table.row(std::move(cells));
    }
    lines.emplace_back();
    for (const auto& line : table.lines())
        lines.push_back("  " + line);
    if (has_times)
        lines.push_back(times_note(metrics));
    if (any_differ)
        lines.emplace_back("  (n): of so many launches, since probes came or went at different times");
    if (!sectors_of.is_all())
        lines.push_back(fmt::format("  sectors: of {}", to_words(sectors_of)));
    if (any_followed)
        lines.emplace_back("  GPU time (n): of so many launches, those followed from their first thread to their last");
    if (order.size() > kMostKernelRows)
        lines.push_back(fmt::format("  ({} more: --summary FILE lists all)", order.size() - kMostKernelRows));
}

/// The first rows of a map, a cell that no program counted as n/a.
TextTable map_table(const SessionView& view, const host::MapData& data, const std::vector<host::Row>& rows,
                    std::size_t most) {
    TextTable table;
    for (const auto& cell : rows[0].key)
        table.column(host::column_name(*cell.field), Align::left);
    std::vector<bool> unknown;
    for (const auto& cell : rows[0].values) {
        table.column(host::column_name(*data.map, *cell.field));
        unknown.push_back(!host::why_not_counted(view, data, cell.field).empty());
    }
    for (const auto& row : rows) {
        if (table.rows() == most)
            break;
        std::vector<std::string> cells;
        for (const auto& cell : row.key)
            cells.push_back(cell.text);
        for (std::size_t i = 0; i < row.values.size(); ++i)
            cells.push_back(unknown[i] ? "n/a" : host::value_text(row.values[i], view.simulated));
        table.row(std::move(cells));
    }
    return table;
}

/// Rows of maps that no column above shows, so that a probe of one's own needs nothing else (E3.3).
void add_own_maps(const SessionView& view, bool ended, std::vector<std::string>& lines) {
    constexpr std::size_t kMostRows = 8;
    const bool several = view.maps.size() > 1;
    for (const auto& data : view.maps) {
        if (host::feeds_metrics(view, data))
            continue;
        if (const std::string why = host::why_not_counted(view, data); !why.empty()) {
            lines.emplace_back();
            lines.push_back(fmt::format("  {}: n/a ({})", data.map->name, why));
            continue;
        }
        const bool is_printed = !data.map->definition.formats.empty();  // its lines were
        if (is_printed && data.ring && data.ring->dropped == 0 && !data.ring->damaged)
            continue;
        const std::string part = coverage_text(view, data, ended);
        const std::string in_brackets = part.empty() ? "" : fmt::format(" ({})", part);
        if (data.map->definition.is_ring()) {
            lines.emplace_back();
            lines.push_back(fmt::format("  {}: {}{}", data.map->name, ring_text(data), in_brackets));
            continue;
        }
        const auto rows = host::read_rows(data, view.catalogue);
        if (rows.empty()) {
            // Nothing counted is a result too, where the probe ran.
            if (view.coverage_of(data).covered != 0 && view.drained) {
                lines.emplace_back();
                lines.push_back(fmt::format("  {}: no entry{}", data.map->name, in_brackets));
            }
            continue;
        }
        lines.emplace_back();
        if (several)
            lines.push_back("  " + data.map->name);
        for (const auto& line : map_table(view, data, rows, kMostRows).lines())
            lines.push_back("  " + line);
        if (rows.size() > kMostRows)
            lines.push_back(fmt::format("  ({} more: --summary FILE lists all)", rows.size() - kMostRows));
        if (!part.empty())
            lines.push_back("  " + part);
    }
}

/// A paragraph cut into lines at blanks, continuation lines set in by two.
void add_wrapped(const std::string& text, std::vector<std::string>& lines) {
    std::string line;
    std::size_t at = 0;
    while (at < text.size()) {
        const auto end = std::min(text.find(' ', at), text.size());
        const auto word = text.substr(at, end - at);
        if (!line.empty() && line.size() + 1 + word.size() > kLineWidth) {
            lines.push_back(line);
            line = "  ";
        }
        line += line.empty() || line == "  " ? word : " " + word;
        at = end + 1;
    }
    if (!line.empty())
        lines.push_back(line);
}

}  // namespace

std::string coverage_text(const SessionView& view, const host::MapData& data, bool ended) {
    std::vector<std::string> parts;
    const auto coverage = view.coverage_of(data);
    if (const Sampling sampling = view.catalogue.sampling_of(data.probe()); !sampling.is_all())
        parts.push_back(fmt::format("counted in {} only", to_words(sampling)));
    const std::string launches =
        fmt::format("{} of {} launches", format_count(coverage.covered), format_count(coverage.launches));
    if (ended && !view.drained)
        parts.emplace_back("at least: there was no copy of the map at the end");
    // The launches are those of now, the values those of the last copy.
    if (!coverage.whole())
        parts.push_back(view.drained || ended ? "counted in " + launches
                                              : "at least: by now the probe ran in " + launches);
    if (data.refused_keys != 0)
        parts.push_back(fmt::format("at least: {} found the map full", counted(data.refused_keys, "key")));
    if (data.refused_lookups != 0)
        parts.push_back(fmt::format("{} of other keys found the map full", counted(data.refused_lookups, "look-up")));
    if (const auto refused = host::refused_users(view, data); !refused.empty())
        parts.push_back(fmt::format("at least: {}, the others counted this", host::refused_text(refused)));
    return fmt::format("{}", fmt::join(parts, "; "));
}

std::vector<std::string> run_report(const SessionView& view, const host::RunFacts& facts) {
    std::vector<std::string> lines = {first_line(view, facts)};
    if (view.agent_pid == 0)
        return lines;
    add_states(view, lines);
    add_kernels(view, lines);
    add_own_maps(view, facts.ended, lines);
    const auto findings = host::find_all(view);
    if (!findings.empty())
        lines.emplace_back();
    for (std::size_t i = 0; i < findings.size() && i < kMostFindings; ++i)
        add_wrapped("finding: " + findings[i].text, lines);
    if (findings.size() > kMostFindings)
        lines.push_back(fmt::format("  ({} more findings: --summary FILE lists all)", findings.size() - kMostFindings));
    const auto cost = cost_report(view);
    if (!cost.empty())
        lines.emplace_back();
    lines.insert(lines.end(), cost.begin(), cost.end());
    return lines;
}

}  // namespace egpu::cli
