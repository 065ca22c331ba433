// SPDX-License-Identifier: Apache-2.0
#include "ui/model/facts.hpp"

#include <fmt/format.h>

#include "base/units.hpp"
#include "host/findings/metrics.hpp"
#include "host/view/live_view.hpp"
#include "host/view/map_users.hpp"
#include "ui/model/kernel_names.hpp"

namespace egpu::ui {
namespace {

std::string joined(const std::vector<std::string>& parts, const char* between) {
    return fmt::format("{}", fmt::join(parts, between));
}

std::string reason_of(const host::Kernel& kernel, const host::KernelCounts& counts) {
    std::string text = kernel.reason;
    if (kernel.waiting)
        text = "its copy waits for a quiet moment: what ran before goes on";
    else if (text.empty() && counts.copy_reason != 0 && counts.instrumented < counts.launches)
        text = host::copy_reason_text(counts.copy_reason);
    if (!kernel.fix.empty())
        text += (text.empty() ? "" : "; ") + kernel.fix;
    return text;
}

KernelRow kernel_row(const host::Kernel& kernel, const host::KernelCounts& counts) {
    KernelRow row;
    row.id = kernel.id;
    row.name = kernel.name;
    row.signature = kernel.signature;
    row.module = kernel.module;
    row.state = kernel.state;
    row.reason = reason_of(kernel, counts);
    row.launches = counts.launches;
    row.instrumented = counts.instrumented;
    row.registers = kernel.registers.original;
    row.registers_instrumented = kernel.registers.instrumented;
    row.sites = kernel.sites;
    return row;
}

std::string remark_of(const host::Probe& probe) {
    std::vector<std::string> parts;
    if (!probe.reason.empty())
        parts.push_back(probe.reason);
    if (probe.state == host::ProbeState::detached)
        parts.emplace_back("what it counted stays");
    parts.insert(parts.end(), probe.notes.begin(), probe.notes.end());
    return joined(parts, "; ");
}

/// Of which launches the values are, and whether more came that they lack.
std::string map_note(const host::MapData& data, const host::SessionView& view, std::size_t rows) {
    if (const std::string why = host::why_not_counted(view, data); !why.empty())
        return "n/a: " + why;
    const auto refused = host::refused_users(view, data);
    const auto coverage = view.coverage_of(data);
    std::string note = fmt::format("{} {}", format_count(rows), rows == 1 ? "row" : "rows");
    if (!data.age_ns)
        return "not copied from the GPU yet";
    if (rows > kMostMapRows)
        note += fmt::format(", of which the first {} are shown: egpu map dump prints all", format_count(kMostMapRows));
    note += !view.drained            ? "; at least: the last copy from the GPU is not made"
            : data.refused_keys != 0 ? fmt::format("; at least: {} keys found the map full", data.refused_keys)
            : !refused.empty()       ? fmt::format("; at least: {}", host::refused_text(refused))
                                     : "; totals since the session began";
    if (const Sampling sampling = view.catalogue.sampling_of(data.probe()); !sampling.is_all())
        note += fmt::format("; counted in {} only", to_words(sampling));
    if (!coverage.whole())
        note += fmt::format("; counted in {} of {} launches", format_count(coverage.covered),
                            format_count(coverage.launches));
    return note;
}

MapRows map_rows(const host::MapData& data, const host::SessionView& view) {
    MapRows result;
    result.name = data.map->name;
    for (const auto& field : data.map->definition.key.fields)
        if (field.elements == 1)
            result.heads.push_back(host::column_name(field));
    result.key_columns = result.heads.size();
    std::vector<bool> unknown;  // by field: no program counted it
    for (const auto& field : data.map->definition.value.fields) {
        result.heads.push_back(host::column_name(*data.map, field));
        unknown.push_back(!host::why_not_counted(view, data, &field).empty());
    }
    const bool all_unknown = !host::why_not_counted(view, data).empty();
    const auto rows = all_unknown ? std::vector<host::Row>{} : host::read_rows(data, view.catalogue);
    for (std::size_t i = 0; i < rows.size() && i < kMostMapRows; ++i) {
        std::vector<std::string> cells;
        for (const auto& cell : rows[i].key)
            cells.push_back(cell.text);
        for (std::size_t value = 0; value < rows[i].values.size(); ++value)
            cells.push_back(unknown[value] ? "n/a" : host::value_text(rows[i].values[value], view.simulated));
        result.rows.push_back(std::move(cells));
    }
    result.note = map_note(data, view, rows.size());
    return result;
}

}  // namespace

Facts facts_of(const host::SessionView& view, const std::vector<host::Finding>& findings) {
    Facts facts;
    const auto& catalogue = view.catalogue;
    facts.session = catalogue.session;
    facts.program = view.program;
    facts.pid = view.agent_pid;
    facts.device = view.device_name;
    facts.simulated = view.simulated;
    facts.command = joined(catalogue.command, " ");
    facts.egpu_version = catalogue.egpu_version;
    facts.started_unix_ms = catalogue.started_unix_ms;
    facts.gpu_memory_bytes = view.gpu_memory_bytes;
    facts.launches = view.launches();
    facts.instrumented = view.instrumented_launches();
    facts.complete = view.complete();
    facts.agent_error = view.agent_error;
    std::uint64_t dropped = view.unknown_launches;
    for (const auto& map : view.maps)
        dropped += map.refused_keys;
    facts.dropped = dropped;
    KernelNames names;
    names.update(catalogue);
    facts.kernels.reserve(catalogue.kernels.size());
    for (std::size_t i = 0; i < catalogue.kernels.size(); ++i) {
        facts.kernels.push_back(
            kernel_row(catalogue.kernels[i], i < view.counts.size() ? view.counts[i] : host::KernelCounts()));
        facts.kernels.back().name = names.of(i + 1);
    }
    for (const auto& [id, metrics] : host::kernel_metrics(view)) {
        if (id < 1 || id > facts.kernels.size())
            continue;
        facts.kernels[id - 1].read_bytes = metrics.read_bytes;
        facts.kernels[id - 1].written_bytes = metrics.written_bytes;
        facts.kernels[id - 1].bytes_at_least = metrics.at_least;
        facts.kernels[id - 1].sectors_per_load = metrics.sectors_per_load;
        facts.kernels[id - 1].sector_use = metrics.sector_use;
    }
    for (const auto& probe : catalogue.probes)
        facts.probes.push_back(
            {probe.probe, probe.program, probe.section, probe.state, remark_of(probe), probe.sites, probe.kernels});
    for (const auto& map : view.maps)
        if (map.map != nullptr)
            facts.maps.push_back(map_rows(map, view));
    for (const auto& finding : findings) {
        const bool known = catalogue.kernel(finding.kernel_id) != nullptr;
        facts.findings.push_back({finding.id, known ? names.of(finding.kernel_id) : "", finding.place, finding.text,
                                  "egpu", Severity::warning});
    }
    return facts;
}

}  // namespace egpu::ui
