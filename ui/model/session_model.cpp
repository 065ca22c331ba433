// SPDX-License-Identifier: Apache-2.0
#include "ui/model/session_model.hpp"

#include <fmt/format.h>

#include <cmath>

namespace egpu::ui {
namespace {

bool goes_elsewhere(const Trace& trace, double value) {
    const auto last = trace.points.last();
    if (!last || std::isnan(last->value))
        return !std::isnan(value);
    return last->value != value;  // true for the gap that begins
}

}  // namespace

SessionModel::SessionModel(QObject* parent) : QObject(parent), probes_(probe_heads()), findings_(finding_heads()) {}

void SessionModel::start(std::unique_ptr<Feed> feed) {
    feed_.reset();
    auto before = std::exchange(charts_, std::make_unique<Charts>());
    lines_.clear();
    samples_ = 0;
    facts_.reset();
    kernels_.set_facts(nullptr);
    probes_.set_rows({});
    findings_.set_rows({});
    life_ = Life::starting;
    finished_ = false;
    life_text_.clear();
    Q_EMIT restarted();
    feed_ = std::make_unique<FeedThread>(std::move(feed));
    name_ = feed_->name();
}

void SessionModel::stop() {
    feed_.reset();
}

SessionModel::Changes SessionModel::pull() {
    return feed_ ? apply(feed_->take()) : Changes();
}

void SessionModel::add_lines(const std::vector<LineDefinition>& lines) {
    for (const auto& line : lines) {
        Chart* chart = charts_->find(line.chart);
        if (chart == nullptr) {
            Chart made;
            made.id = line.chart;
            made.title = line.chart_title;
            made.note = line.chart_note;
            made.unit = line.unit;
            made.logarithmic = line.logarithmic;
            made.shown = line.shown;
            made.rank = line.rank;
            chart = &charts_->add(std::move(made));
        }
        const bool own = line.colour_of.empty();
        Trace& trace = charts_->line(*chart, line.id, line.name, own ? line.id : line.colour_of,
                                     own ? std::nullopt : std::optional(line.stroke));
        trace.filled = line.filled;
        trace.wide = line.wide;
        lines_.push_back(&trace);
    }
}

void SessionModel::add_facts(FactsPointer facts) {
    facts_ = std::move(facts);
    kernels_.set_facts(facts_);
    probes_.set_rows(probe_rows(*facts_));
    findings_.set_rows(finding_rows(*facts_));
}

void SessionModel::count_points(std::size_t points) {
    points_ += points;
    const auto now = std::chrono::steady_clock::now();
    const double seconds = std::chrono::duration<double>(now - counted_since_).count();
    if (seconds < 2)
        return;
    point_rate_ = static_cast<double>(points_) / seconds;
    points_ = 0;
    counted_since_ = now;
}

void SessionModel::explain_empty_charts() {
    const double seconds = static_cast<double>(last_sample_ - first_sample_) / 1e9;
    for (const auto& chart : charts_->all()) {
        const bool is_rate = chart->unit == Unit::bytes_per_second || chart->unit == Unit::per_second;
        if (samples_ == 0)
            chart->why_empty = finished_ ? "no sample was taken" : "no data yet";
        else if (seconds < 1)
            chart->why_empty =
                fmt::format("too short for {} over 1 s: {} {}{}. Totals are in the tables below",
                            is_rate ? "a rate" : "percentiles", samples_, samples_ == 1 ? "sample" : "samples",
                            samples_ == 1 ? "" : " in " + span_text(seconds * 1e9));
        else
            chart->why_empty = fmt::format("not known in any of {} samples", samples_);
    }
}

SessionModel::Changes SessionModel::apply(std::vector<Update> updates) {
    Changes changes;
    FactsPointer newest;
    std::size_t points = 0;
    for (auto& update : updates) {
        add_lines(update.lines);
        if (update.gap)
            charts_->break_lines(update.time);
        changes.values = changes.values || update.gap || !update.lines.empty();
        for (const auto& each : update.values) {
            if (each.line >= lines_.size())
                continue;
            changes.values = changes.values || goes_elsewhere(*lines_[each.line], each.value);
            charts_->append(*lines_[each.line], update.time, each.value);
        }
        if (!update.values.empty())
            first_sample_ = samples_++ == 0 ? update.time : first_sample_;
        last_sample_ = update.values.empty() ? last_sample_ : update.time;
        points += update.values.size();
        changes.lines = changes.lines || !update.values.empty() || !update.lines.empty() || update.gap;
        newest = update.facts ? std::move(update.facts) : newest;
        changes.life = changes.life || life_ != update.life || life_text_ != update.life_text;
        life_ = update.life;
        finished_ = finished_ || update.last;
        life_text_ = update.life_text;
        for (const auto& [severity, text] : update.messages)
            messages_.add(severity, QString::fromStdString(text));
    }
    if (changes.lines || changes.life)
        explain_empty_charts();
    if (newest) {
        add_facts(std::move(newest));
        changes.facts = true;
    }
    count_points(points);
    return changes;
}

}  // namespace egpu::ui
