// SPDX-License-Identifier: Apache-2.0
#include "host/export/metrics_json.hpp"

#include <algorithm>

#include "host/findings/metrics.hpp"
#include "host/view/map_users.hpp"

namespace egpu::host {
namespace {

using nlohmann::ordered_json;

ordered_json label_or_null(const std::string& text) {
    return text.empty() ? ordered_json(nullptr) : ordered_json(text);
}

const char* unit_of(ebpf::Role role) {
    switch (role) {
        case ebpf::Role::bytes:
            return "bytes";
        case ebpf::Role::cycles:
            return "cycles";
        case ebpf::Role::nanoseconds:
            return "ns";
        case ebpf::Role::count:
            return "count";
        default:
            return "number";
    }
}

/// A key cell as a metric's label: ids for kernels and sites, words for enums, numbers else.
void add_labels(const SessionView& view, const Row& row, ordered_json& metric) {
    if (row.kernel_id != 0)
        metric["kernel"] = row.kernel_id;
    if (row.site_id != 0) {
        const Site* site = view.catalogue.site(row.site_id);
        metric["site"] = row.site_id;
        metric["line"] = label_or_null(site->place());
        metric["file"] = label_or_null(site->file);
        metric["opcode"] = site->opcode;
    }
    for (const auto& cell : row.key) {
        if (cell.field->role == ebpf::Role::kernel_id || cell.field->role == ebpf::Role::site_id)
            continue;
        const std::string name = cell.field->name.empty() ? "key" : cell.field->name;
        metric[name] = cell.field->enumerators.empty() ? ordered_json(cell.raw) : ordered_json(cell.text);
    }
}

std::string probe_of(const MapData& data) {
    return data.map->name.substr(0, data.map->name.find('/'));
}

/// Name, map and unit of a field's metric; labels and values follow.
ordered_json metric_of(const SessionView& view, const MapData& data, const ebpf::TypeField& field) {
    ordered_json metric;
    metric["name"] = metric_name(data, field);
    metric["map"] = data.map->definition.name;
    if (!field.histogram.empty())
        metric["histogram"] = field.histogram;
    const bool is_time = field.role == ebpf::Role::cycles || field.role == ebpf::Role::nanoseconds;
    metric["unit"] = fmt::format("{}{}", view.simulated && is_time ? "simulated " : "", unit_of(field.role));
    return metric;
}

/// Of fields that no program counted, whatever the map holds for others: null, for a reason, and of no launch.
void add_unknown(const SessionView& view, const MapData& data, const ebpf::TypeField& field, const std::string& why,
                 ordered_json& metrics) {
    ordered_json metric = metric_of(view, data, field);
    metric["launches"] = view.launches();
    metric["launches_covered"] = 0;
    metric["value"] = nullptr;
    metric["reason"] = why;
    metrics.push_back(std::move(metric));
}

ordered_json sample_json(const Sampling& sampling) {
    return {{to_name(sampling.unit), sampling.one_in}};
}

ordered_json names_of(const std::vector<const Probe*>& programs) {
    ordered_json names = ordered_json::array();
    for (const Probe* program : programs)
        names.push_back(program->program);
    return names;
}

void add_metrics_of(const SessionView& view, const MapData& data, ordered_json& metrics) {
    const auto refused = refused_users(view, data);
    const Sampling sampling = view.catalogue.sampling_of(data.probe());
    std::vector<bool> unknown;
    for (const auto& field : data.map->definition.value.fields) {
        const std::string why = why_not_counted(view, data, &field);
        unknown.push_back(!why.empty());
        if (!why.empty())
            add_unknown(view, data, field, why, metrics);
    }
    for (const auto& row : read_rows(data, view.catalogue)) {
        const Coverage coverage = view.coverage_of(data, row.kernel_id);
        // Rows of a kernel that never ran instrumented hold nothing: unknown, not 0.
        const bool counted = row.kernel_id == 0 || coverage.covered != 0;
        for (std::size_t i = 0; i < row.values.size(); ++i) {
            const auto& cell = row.values[i];
            if (i < unknown.size() && unknown[i])
                continue;
            ordered_json metric = metric_of(view, data, *cell.field);
            add_labels(view, row, metric);
            metric["launches"] = coverage.launches;
            metric["launches_covered"] = coverage.covered;
            if (!sampling.is_all())
                metric["sample"] = sample_json(sampling);
            if (!refused.empty())
                metric["programs_refused"] = names_of(refused);
            if (!counted)
                metric["value"] = nullptr;
            else if (cell.elements.size() == 1)
                metric["value"] = cell.field->is_signed ? ordered_json(static_cast<std::int64_t>(cell.elements[0]))
                                                        : ordered_json(cell.elements[0]);
            else
                metric["values"] =
                    cell.field->is_signed ? ordered_json(signed_numbers(cell)) : ordered_json(cell.elements);
            metrics.push_back(std::move(metric));
        }
    }
}

bool has_field(const ebpf::TypeShape& shape, std::string_view name) {
    return std::any_of(shape.fields.begin(), shape.fields.end(), [&](const auto& field) { return field.name == name; });
}

/// The probe whose map is taken for derived figures, by a field of its values; "" where there is none.
std::string feeding_probe(const SessionView& view, std::string_view key_field, std::string_view value_field) {
    for (const auto& data : view.maps)
        if (data.age_ns && feeds_metrics(view, data) && has_field(data.map->definition.value, value_field) &&
            (key_field.empty() || has_field(data.map->definition.key, key_field)))
            return probe_of(data);
    return {};
}

/// Figures that are made of several fields; a kernel for which one is not known has none.
void add_derived(const SessionView& view, ordered_json& metrics) {
    const std::string traffic = feeding_probe(view, "access", "requested_bytes");
    const std::string sectors = feeding_probe(view, "", "sectors");
    for (const auto& each : kernel_metrics(view)) {
        const std::uint32_t kernel = each.first;
        const KernelMetrics& figures = each.second;
        const std::uint64_t launches =
            kernel >= 1 && kernel <= view.counts.size() ? view.counts[kernel - 1].launches : 0;
        if (figures.bytes_per_second && !traffic.empty())
            metrics.push_back({{"name", traffic + ".kernel_throughput"},
                               {"unit", "bytes_per_s"},
                               {"kernel", kernel},
                               {"space", "global"},
                               {"bound", "at_least"},
                               {"launches", launches},
                               {"launches_covered", figures.traffic_launches},
                               {"value", *figures.bytes_per_second}});
        if (sectors.empty())
            continue;
        const auto add_ratio = [&](const char* name, const char* unit, double value) {
            ordered_json metric = {{"name", sectors + name},
                                   {"unit", unit},
                                   {"kernel", kernel},
                                   {"launches", launches},
                                   {"launches_covered", figures.sector_launches}};
            if (!figures.sector_sampling.is_all())
                metric["sample"] = sample_json(figures.sector_sampling);
            metric["value"] = value;
            metrics.push_back(std::move(metric));
        };
        if (figures.sectors_per_load)
            add_ratio(".sectors_per_load", "number", *figures.sectors_per_load);
        if (figures.sector_use)
            add_ratio(".sector_use", "ratio", *figures.sector_use);
    }
}

}  // namespace

std::string metric_name(const MapData& data, const ebpf::TypeField& field) {
    return probe_of(data) + "." + column_name(*data.map, field);
}

ordered_json metrics_json(const SessionView& view) {
    ordered_json metrics = ordered_json::array();
    for (const auto& data : view.maps)
        if (data.age_ns || !why_not_counted(view, data).empty())  // a map that no copy uses is not copied
            add_metrics_of(view, data, metrics);
    add_derived(view, metrics);
    return metrics;
}

}  // namespace egpu::host
