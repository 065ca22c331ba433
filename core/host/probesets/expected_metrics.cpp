// SPDX-License-Identifier: Apache-2.0
#include "host/probesets/expected_metrics.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/names.hpp"

namespace egpu::host {
namespace {

using Label = KnownMetric::Label;

Dimension dimension_of_role(ebpf::Role role) {
    switch (role) {
        case ebpf::Role::bytes:
            return Dimension::bytes;
        case ebpf::Role::cycles:
            return Dimension::cycles;
        case ebpf::Role::nanoseconds:
            return Dimension::duration;
        default:
            return Dimension::number;
    }
}

/// Labels of a map's values, as the summary gives them.
std::vector<Label> labels_of(const ebpf::MapDefinition& map) {
    std::vector<Label> labels = {{"map", {map.name}}};
    for (const auto& field : map.key.fields) {
        if (field.role == ebpf::Role::kernel_id || field.role == ebpf::Role::site_id)
            labels.push_back({"kernel", {}});
        if (field.role == ebpf::Role::site_id)
            for (const char* of_site : {"line", "file", "opcode"})
                labels.push_back({of_site, {}});
        if (field.role == ebpf::Role::kernel_id || field.role == ebpf::Role::site_id)
            continue;
        Label label{field.name.empty() ? "key" : field.name, {}};
        for (const auto& [value, name] : field.enumerators)
            label.values.push_back(name);
        labels.push_back(std::move(label));
    }
    return labels;
}

/// A figure may be in several maps: the label "map" has the names of all of them.
void name_all_maps(std::vector<KnownMetric>& metrics) {
    std::map<std::string, std::vector<std::string>> maps;
    for (const auto& metric : metrics)
        for (const auto& label : metric.labels)
            if (label.name == "map")
                maps[metric.name].insert(maps[metric.name].end(), label.values.begin(), label.values.end());
    for (auto& metric : metrics)
        for (auto& label : metric.labels)
            if (label.name == "map")
                label.values = maps[metric.name];
}

bool has_field(const ebpf::TypeShape& shape, std::string_view name) {
    return std::any_of(shape.fields.begin(), shape.fields.end(), [&](const auto& field) { return field.name == name; });
}

bool has_role(const ebpf::TypeShape& shape, ebpf::Role role) {
    return std::any_of(shape.fields.begin(), shape.fields.end(), [&](const auto& field) { return field.role == role; });
}

/// Figures that are derived from fields of these names (findings/metrics).
void add_derived(const std::string& probe, const ebpf::MapDefinition& map, std::vector<KnownMetric>& metrics) {
    const std::vector<Label> of_kernel = {{"kernel", {}}};
    if (has_field(map.value, "requested_bytes") && has_field(map.key, "space") && has_field(map.key, "access") &&
        has_role(map.key, ebpf::Role::kernel_id))
        metrics.push_back(
            {probe + ".kernel_throughput", Dimension::rate, {{"kernel", {}}, {"space", {"global"}}}, false});
    if (has_field(map.value, "requests") && has_field(map.value, "sectors") && has_role(map.key, ebpf::Role::site_id)) {
        metrics.push_back({probe + ".sectors_per_load", Dimension::number, of_kernel, false});
        if (has_field(map.value, "requested_bytes"))
            metrics.push_back({probe + ".sector_use", Dimension::share, of_kernel, false});
    }
}

std::string probe_of(const std::string& metric) {
    return metric.substr(0, metric.find('.'));
}

const KnownMetric* find(const std::vector<KnownMetric>& known, const std::string& name) {
    const auto found = std::find_if(known.begin(), known.end(), [&](const auto& each) { return each.name == name; });
    return found != known.end() ? &*found : nullptr;
}

/// The only one that begins so, else the nearest: session.refused_k is session.refused_keys cut short.
std::string meant(const std::string& typed, const std::vector<std::string>& names) {
    const auto begins_so = [&](const std::string& name) {
        return typed.size() > probe_of(typed).size() + 1 && name.starts_with(typed);
    };
    if (std::count_if(names.begin(), names.end(), begins_so) != 1)
        return nearest(typed, names);
    return *std::find_if(names.begin(), names.end(), begins_so);
}

Diagnostic unknown_metric(const Expectation& expectation, const std::vector<KnownMetric>& known) {
    std::vector<std::string> names, of_probe;
    for (const auto& metric : known) {
        names.push_back(metric.name);
        if (probe_of(metric.name) == probe_of(expectation.metric.value))
            of_probe.push_back(metric.name);
    }
    const std::string near = meant(expectation.metric.value, names);
    const auto& shown = of_probe.empty() ? names : of_probe;
    return problem_at(expectation.metric.place, "EGPU-S031",
                      fmt::format("no metric is named '{}'", expectation.metric.value),
                      fmt::format("{}{} {}", near.empty() ? "" : fmt::format("did you mean '{}'? ", near),
                                  near.empty() ? "there are:" : "There are:", fmt::join(shown, ", ")));
}

void check_labels(const Expectation& expectation, const KnownMetric& metric, std::vector<Diagnostic>& problems) {
    std::vector<std::string> names;
    for (const auto& label : metric.labels)
        names.push_back(label.name);
    for (const auto& [name, value] : expectation.where) {
        const auto label = std::find_if(metric.labels.begin(), metric.labels.end(),
                                        [&, &key = name](const Label& each) { return each.name == key.value; });
        if (label == metric.labels.end()) {
            const std::string near = nearest(name.value, names);
            problems.push_back(problem_at(
                name.place, "EGPU-S032", fmt::format("values of '{}' have no label '{}'", metric.name, name.value),
                names.empty()
                    ? "leave 'where' out"
                    : fmt::format("{}they have: {}", near.empty() ? "" : fmt::format("did you mean '{}'? ", near),
                                  fmt::join(names, ", "))));
        } else if (!label->values.empty() &&
                   std::find(label->values.begin(), label->values.end(), value.value) == label->values.end()) {
            const std::string near = nearest(value.value, label->values);
            problems.push_back(problem_at(
                value.place, "EGPU-S032", fmt::format("'{}' is no value of '{}'", value.value, name.value),
                fmt::format("{}it is one of: {}", near.empty() ? "" : fmt::format("did you mean '{}'? ", near),
                            fmt::join(label->values, ", "))));
        }
    }
}

void check(const Expectation& expectation, const KnownMetric& metric, std::vector<Diagnostic>& problems) {
    if (metric.is_histogram) {
        problems.push_back(
            problem_at(expectation.metric.place, "EGPU-S033",
                       fmt::format("'{}' is a histogram: to expect of it is not in this version", metric.name),
                       "the summary has its slots"));
        return;
    }
    check_labels(expectation, metric, problems);
    if (expectation.dimension == metric.dimension)
        return;
    const auto as_metric = parse_quantity("1", metric.dimension);
    const std::string hint = as_metric ? "write a number without a unit" : as_metric.error().hints.front();
    problems.push_back(
        problem_at(expectation.value.place, "EGPU-S013",
                   expectation.dimension == Dimension::number
                       ? fmt::format("needs a unit: '{}' is in {}", metric.name, base_unit(metric.dimension))
                       : fmt::format("'{}' is in {}, not in {}", metric.name, base_unit(metric.dimension),
                                     base_unit(expectation.dimension)),
                   hint));
}

}  // namespace

std::vector<KnownMetric> metrics_of(const LoadedProbe& probe) {
    std::vector<KnownMetric> metrics;
    for (const auto& map : probe.object->maps) {
        for (const auto& field : map.value.fields) {
            const bool histogram = !field.histogram.empty();
            const std::string name = field.name.empty() || histogram ? map.name : field.name;
            metrics.push_back({probe.name + "." + name, dimension_of_role(field.role), labels_of(map),
                               histogram || field.elements != 1});
        }
        add_derived(probe.name, map, metrics);
    }
    name_all_maps(metrics);
    return metrics;
}

std::vector<KnownMetric> session_metrics() {
    const auto metric = [](const char* name, Dimension dimension) {
        return KnownMetric{std::string("session.") + name, dimension, {}, false};
    };
    return {metric("launches", Dimension::number),          metric("launches_instrumented", Dimension::number),
            metric("launches_left_out", Dimension::number), metric("launches_unknown", Dimension::number),
            metric("launches_unasked", Dimension::number),  metric("launches_not_followed", Dimension::number),
            metric("kernels", Dimension::number),           metric("kernels_instrumented", Dimension::number),
            metric("refused_keys", Dimension::number),      metric("refused_lookups", Dimension::number),
            metric("dropped_records", Dimension::number),   metric("gpu_memory", Dimension::bytes),
            metric("elapsed", Dimension::duration),         metric("waited", Dimension::duration),
            metric("longest_wait", Dimension::duration)};
}

std::vector<Diagnostic> check_expectations(const std::vector<Expectation>& expectations,
                                           const std::vector<const LoadedProbe*>& probes,
                                           const std::vector<std::string>& named) {
    std::vector<KnownMetric> known;
    std::vector<std::string> loaded = {"session"};
    for (const auto* probe : probes) {
        loaded.push_back(probe->name);
        for (auto& metric : metrics_of(*probe))
            known.push_back(std::move(metric));
    }
    for (auto& metric : session_metrics())
        known.push_back(std::move(metric));
    std::vector<Diagnostic> problems;
    const auto holds = [](const std::vector<std::string>& list, const std::string& name) {
        return std::find(list.begin(), list.end(), name) != list.end();
    };
    for (const auto& expectation : expectations) {
        const std::string probe = probe_of(expectation.metric.value);
        if (expectation.broken || (holds(named, probe) && !holds(loaded, probe)))
            continue;
        if (const KnownMetric* metric = find(known, expectation.metric.value))
            check(expectation, *metric, problems);
        else
            problems.push_back(unknown_metric(expectation, known));
    }
    return problems;
}

}  // namespace egpu::host
