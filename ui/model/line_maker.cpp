// SPDX-License-Identifier: Apache-2.0
#include "ui/model/line_maker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

namespace egpu::ui {
namespace {

constexpr const char* kAll = "all kernels";
constexpr const char* kAllWritten = "all kernels, written";

std::string colour_of_kernel(std::uint32_t id) {
    return fmt::format("kernel {}", id);
}

Unit rate_unit(host::SeriesUnit unit) {
    return unit == host::SeriesUnit::bytes ? Unit::bytes_per_second : Unit::per_second;
}

Unit histogram_unit(host::SeriesUnit unit, bool simulated) {
    switch (unit) {
        case host::SeriesUnit::bytes:
            return Unit::bytes;
        case host::SeriesUnit::cycles:
            return simulated ? Unit::simulated_cycles : Unit::cycles;
        case host::SeriesUnit::nanoseconds:
            return simulated ? Unit::simulated_nanoseconds : Unit::nanoseconds;
        default:
            return Unit::number;
    }
}

/// "requested_bytes" -> "requested bytes".
std::string words(std::string name) {
    std::replace(name.begin(), name.end(), '_', ' ');
    return name;
}

/// "hello/warps" of the map's only number, which has its name; "bandwidth/traffic: requested bytes" of one of several.
std::string counter_title(const std::string& map, const std::string& field) {
    return map.ends_with("/" + field) ? map : map + ": " + words(field);
}

/// "latency/load_latency", which says what it is; "Latency of waits/barrier", which does not.
std::string histogram_title(const std::string& map, bool is_time) {
    const char* const kind = is_time ? "latency" : "size";
    return map.find(kind) != std::string::npos ? map : (is_time ? "Latency of " : "Sizes of ") + map;
}

/// "; in 1 in 64 warps only", by the probe of a map; "" where all count.
std::string sampled_part(const host::SessionView& view, const std::string& map) {
    const Sampling sampling = view.catalogue.sampling_of(map.substr(0, map.find('/')));
    return sampling.is_all() ? std::string() : fmt::format("; in {} only", to_words(sampling));
}

/// Figures that the chart of the bandwidth and the table of kernels are made of: charts of these alone are
/// there where somebody asks for them.
bool is_derived_from(const std::string& field) {
    return field == "requested_bytes" || field == "accesses" || field == "requests" || field == "sectors";
}

/// Kernels that a session's series of this field is of, in the order of their ids.
std::vector<std::uint32_t> kernels_of(const host::SeriesTable& table, const host::SessionView& view,
                                      host::SessionField field) {
    std::vector<std::uint32_t> ids;
    for (const auto& kernel : view.catalogue.kernels)
        if (ids.size() < kMostLines && table.of_session(field, kernel.id))
            ids.push_back(kernel.id);
    return ids;
}

}  // namespace

void LineMaker::restart() {
    window_ = host::RateWindow();
}

std::uint32_t LineMaker::line(const ChartKind& chart, const std::string& id, const std::string& name, const Look& look,
                              Update& update) {
    const auto found = numbers_.find({chart.id, id});
    if (found != numbers_.end())
        return found->second;
    if (lines_of_[chart.id] >= kMostLines) {
        if (std::find(overfull_.begin(), overfull_.end(), chart.id) == overfull_.end()) {
            overfull_.push_back(chart.id);
            update.messages.emplace_back(
                Severity::hint,
                fmt::format("chart {}: more than {} lines; further ones are not drawn", chart.title, kMostLines));
        }
        return kNoLine;
    }
    ++lines_of_[chart.id];
    LineDefinition definition;
    definition.chart = chart.id;
    definition.chart_title = chart.title;
    definition.chart_note = chart.note;
    definition.unit = chart.unit;
    definition.logarithmic = chart.logarithmic;
    definition.shown = chart.shown;
    definition.rank = chart.rank;
    definition.id = id;
    definition.name = name;
    definition.colour_of = look.colour_of;
    definition.stroke = look.stroke;
    definition.filled = look.filled;
    definition.wide = look.wide;
    update.lines.push_back(std::move(definition));
    numbers_[{chart.id, id}] = told_;
    used_.emplace(chart.id, name);
    return told_++;
}

std::string LineMaker::series_name(const host::Series& series, const host::SeriesTable& table,
                                   const std::string& chart) const {
    const std::string label = series.label.empty() ? words(series.field) : series.label;
    // In the order of their sites' ids, as `egpu map dump` numbers them.
    std::size_t number = 1;
    for (const auto& other : table.all())
        if (other.map == series.map && other.field == series.field && other.label == series.label &&
            std::tie(other.kernel_id, other.site_id, other.id) < std::tie(series.kernel_id, series.site_id, series.id))
            ++number;
    std::string name = number == 1 ? label : fmt::format("{} #{}", label, number);
    while (used_.contains({chart, name}))  // one that came later than those it stands before
        name = fmt::format("{} #{}", label, ++number);
    return name;
}

void LineMaker::put(std::uint32_t line, std::optional<double> value, Update& update) {
    if (line != kNoLine)
        update.values.push_back({line, value.value_or(std::nan(""))});
}

void LineMaker::add(const host::Sample& sample, const host::SeriesTable& table, const host::SessionView& view,
                    Time time, Update& update) {
    window_.push(sample, table);
    names_.update(view.catalogue);
    update.time = time;
    add_bandwidth(table, view, update);
    add_histograms(table, view, update);
    add_launches(table, view, update);
    add_counters(table, view, update);
}

void LineMaker::add_bandwidth(const host::SeriesTable& table, const host::SessionView& view, Update& update) {
    if (!table.of_session(host::SessionField::read_bytes))
        return;
    const ChartKind chart = {"session/bandwidth",
                             "Requested bandwidth",
                             "asked for by loads and stores of global memory, over 1 s; caches are not left out",
                             Unit::bytes_per_second,
                             false,
                             0};
    const auto add_two = [&](std::uint32_t kernel, const std::string& whose, const std::string& id,
                             const Look& read_look, const Look& written_look) {
        const auto rates = window_.kernel(kernel, table);
        const auto read = line(chart, id + "/read", whose + "read", read_look, update);
        const auto written = line(chart, id + "/written", whose + "written", written_look, update);
        put(read, rates.read, update);
        put(written, rates.written, update);
    };
    add_two(0, "all kernels, ", "all", {kAll, Stroke::solid, true, true}, {kAllWritten, Stroke::dashed, false, true});
    for (const auto id : kernels_of(table, view, host::SessionField::read_bytes)) {
        const std::string colour = colour_of_kernel(id);
        add_two(id, names_.of(id) + ", ", colour, {colour, Stroke::solid}, {colour, Stroke::dashed});
    }
}

void LineMaker::add_launches(const host::SeriesTable& table, const host::SessionView& view, Update& update) {
    const ChartKind chart = {"session/launches", "Launches", "over 1 s", Unit::per_second, false, 2};
    const auto all = table.of_session(host::SessionField::launches);
    if (!all)
        return;
    put(line(chart, "all", "all kernels", {kAll, Stroke::solid, true, true}, update), window_.rate(*all), update);
    for (const auto id : kernels_of(table, view, host::SessionField::launches)) {
        const std::string colour = colour_of_kernel(id);
        const auto number = line(chart, colour, names_.of(id), {colour}, update);
        put(number, window_.rate(*table.of_session(host::SessionField::launches, id)), update);
    }
}

void LineMaker::add_percentiles(const ChartKind& chart, const std::string& whose, const std::string& colour_of,
                                const std::vector<std::uint32_t>& series, Update& update) {
    const auto percentiles = window_.percentiles(series);
    const auto add_one = [&](const char* name, double value, Stroke stroke) {
        put(line(chart, colour_of + "/" + name, whose + ", " + name, {colour_of, stroke, false, colour_of == kAll},
                 update),
            percentiles ? std::optional(value) : std::nullopt, update);
    };
    const auto figures = percentiles.value_or(host::Percentiles{});
    add_one("p50", figures.p50, Stroke::solid);
    add_one("p95", figures.p95, Stroke::dashed);
    add_one("p99", figures.p99, Stroke::dotted);
}

void LineMaker::add_histograms(const host::SeriesTable& table, const host::SessionView& view, Update& update) {
    // By map and field, then by kernel: sites of a kernel are taken together.
    std::map<std::pair<std::string, std::string>, std::map<std::uint32_t, std::vector<std::uint32_t>>> groups;
    for (const auto id : table.histograms())
        groups[{table[id].map, table[id].field}][table[id].kernel_id].push_back(id);
    for (const auto& [name, kernels] : groups) {
        const auto& first = table[kernels.begin()->second.front()];
        const Unit unit = histogram_unit(first.unit, view.simulated);
        const ChartKind chart = {
            fmt::format("{}/{}", name.first, name.second),
            histogram_title(name.first, is_duration(unit)),
            "percentiles of what came over 1 s, within a factor of two" + sampled_part(view, name.first),
            unit,
            true,
            1};
        std::vector<std::uint32_t> all;
        for (const auto& [kernel, series] : kernels)
            all.insert(all.end(), series.begin(), series.end());
        add_percentiles(chart, "all kernels", kAll, all, update);
        for (const auto& [kernel, series] : kernels)
            if (kernel != 0 && lines_of_[chart.id] < kMostLines)
                add_percentiles(chart, names_.of(kernel), colour_of_kernel(kernel), series, update);
    }
}

LineMaker::Look LineMaker::look_of(const host::Series& series) {
    if (series.kernel_id == 0)
        return {};  // a colour of its own
    const bool is_load = series.access.empty() || series.access == "load";
    return {colour_of_kernel(series.kernel_id), is_load                    ? Stroke::solid
                                                : series.access == "store" ? Stroke::dashed
                                                                           : Stroke::dotted};
}

void LineMaker::add_counters(const host::SeriesTable& table, const host::SessionView& view, Update& update) {
    for (const auto& series : table.all()) {
        if (series.kind != host::SeriesKind::counter || series.map == host::kSessionMap)
            continue;
        const ChartKind chart = {fmt::format("{}/{}", series.map, series.field),
                                 counter_title(series.map, series.field),
                                 "over 1 s" + sampled_part(view, series.map),
                                 rate_unit(series.unit),
                                 false,
                                 3,
                                 !is_derived_from(series.field)};
        const std::string id = fmt::format("series {}", series.id);
        const auto told = numbers_.find({chart.id, id});
        const auto number = told != numbers_.end()
                                ? told->second
                                : line(chart, id, series_name(series, table, chart.id), look_of(series), update);
        if (number != kNoLine)
            put(number, window_.rate(series.id), update);
    }
}

}  // namespace egpu::ui
