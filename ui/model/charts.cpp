// SPDX-License-Identifier: Apache-2.0
#include "ui/model/charts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace egpu::ui {
namespace {

/// A field of CSV (RFC 4180).
std::string quoted(const std::string& text) {
    if (text.find_first_of(",\"\n\r") == std::string::npos)
        return text;
    std::string result = "\"";
    for (const char each : text)
        result += each == '"' ? std::string("\"\"") : std::string(1, each);
    return result + "\"";
}

const char* column_unit(Unit unit) {
    switch (unit) {
        case Unit::bytes_per_second:
            return "bytes_per_s";
        case Unit::per_second:
            return "per_s";
        case Unit::nanoseconds:
            return "ns";
        case Unit::simulated_nanoseconds:
            return "simulated_ns";
        case Unit::cycles:
            return "cycles";
        case Unit::simulated_cycles:
            return "simulated_cycles";
        case Unit::bytes:
            return "bytes";
        case Unit::number:
            return "";
    }
    return "";
}

}  // namespace

Trace* Chart::find(const std::string& trace_id) {
    for (const auto& each : traces)
        if (each->id == trace_id)
            return each.get();
    return nullptr;
}

std::size_t Chart::hidden() const {
    return static_cast<std::size_t>(
        std::count_if(traces.begin(), traces.end(), [](const auto& each) { return !each->visible; }));
}

std::string Chart::empty_text() const {
    if (!traces.empty() && hidden() == traces.size())
        return "no line is shown: tick one in the list";
    const bool any = std::any_of(traces.begin(), traces.end(),
                                 [](const auto& each) { return each->visible && each->points.has_value(); });
    return any ? "" : why_empty;
}

Chart* Charts::find(const std::string& id) {
    for (const auto& chart : charts_)
        if (chart->id == id)
            return chart.get();
    return nullptr;
}

Chart& Charts::add(Chart chart) {
    const auto place =
        std::find_if(charts_.begin(), charts_.end(), [&](const auto& each) { return each->rank > chart.rank; });
    touch();
    return **charts_.insert(place, std::make_unique<Chart>(std::move(chart)));
}

Trace& Charts::line(Chart& chart, const std::string& id, const std::string& name, const std::string& colour_of,
                    std::optional<Stroke> stroke) {
    if (Trace* found = chart.find(id))
        return *found;
    auto added = std::make_unique<Trace>();
    added->id = id;
    added->name = name;
    added->style = palette_.style(colour_of);
    added->style.stroke = stroke.value_or(added->style.stroke);
    added->visible = chart.traces.size() < Chart::kShownAtFirst;
    added->points = SeriesBuffer(points_);
    chart.traces.push_back(std::move(added));
    touch();
    return *chart.traces.back();
}

void Charts::append(Trace& trace, Time time, double value) {
    if (std::isnan(value))
        trace.points.append_gap(time);
    else
        trace.points.append(time, value);
    if (!extent_)
        extent_ = TimeRange{time, time};
    extent_->end = std::max(extent_->end, time);
    touch();
}

Trace& Charts::append(Chart& chart, const std::string& id, const std::string& name, Time time, double value) {
    Trace& trace = line(chart, id, name, id);
    append(trace, time, value);
    return trace;
}

void Charts::break_lines(Time time) {
    for (const auto& chart : charts_)
        for (const auto& trace : chart->traces)
            trace->points.append_gap(time);
    touch();
}

std::optional<TimeRange> Charts::extent() const {
    if (!extent_)
        return std::nullopt;
    TimeRange range = *extent_;
    // Rings forget: the oldest point that any line still has.
    std::optional<Time> oldest;
    for (const auto& chart : charts_)
        for (const auto& trace : chart->traces)
            if (!trace->points.empty()) {
                const Time first = trace->points.at(trace->points.begin()).time;
                oldest = std::min(oldest.value_or(first), first);
            }
    range.begin = oldest.value_or(range.begin);
    return range;
}

std::string to_csv(const Chart& chart, const TimeRange& range) {
    std::vector<const Trace*> shown;
    std::vector<std::uint64_t> next;
    std::string text = "time_s";
    for (const auto& trace : chart.traces) {
        if (!trace->visible)
            continue;
        const std::string unit = column_unit(chart.unit);
        text += "," + quoted(unit.empty() ? trace->name : trace->name + " [" + unit + "]");
        shown.push_back(trace.get());
        next.push_back(trace->points.lower_bound(range.begin));
    }
    text += "\n";
    for (;;) {
        std::optional<Time> time;
        for (std::size_t i = 0; i < shown.size(); ++i)
            if (next[i] < shown[i]->points.end() && shown[i]->points.at(next[i]).time <= range.end)
                time = std::min(time.value_or(shown[i]->points.at(next[i]).time), shown[i]->points.at(next[i]).time);
        if (!time)
            return text;
        text += fmt::format("{}", static_cast<double>(*time) / 1e9);
        for (std::size_t i = 0; i < shown.size(); ++i) {
            text += ",";
            if (next[i] >= shown[i]->points.end() || shown[i]->points.at(next[i]).time != *time)
                continue;
            const double value = shown[i]->points.at(next[i]++).value;
            if (!std::isnan(value))
                text += fmt::format("{}", value);
        }
        text += "\n";
    }
}

}  // namespace egpu::ui
