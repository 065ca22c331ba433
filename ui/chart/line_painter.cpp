// SPDX-License-Identifier: Apache-2.0
#include "ui/chart/line_painter.hpp"

#include <algorithm>
#include <cmath>

namespace egpu::ui {
namespace {

constexpr double kLineWidth = 1.6, kWideWidth = 4, kDot = 1.5;  ///< of the widget's units, as all lengths here
constexpr double kLevel = 0.05;
constexpr double kFlat = 3;      ///< that a column is high at most where the line is drawn with its stroke
constexpr unsigned kTint = 34;   ///< of 255, under filled lines
constexpr double kFarOff = 1e5;  ///< pixels: nothing is drawn farther from the picture
/// Dashes begin anew at each point whose number is a multiple: they stand still in the data while its oldest leave.
constexpr std::uint64_t kDashedPoints = 64;

double width_of(const Trace& trace) {
    return trace.wide ? kWideWidth : kLineWidth;
}

StrokeRaster::Dash dash_of(const Trace& trace, double scale) {
    const double width = width_of(trace) * scale;
    return trace.style.stroke == Stroke::dashed ? StrokeRaster::Dash{4 * width, 2 * width, 0}
                                                : StrokeRaster::Dash{1.2 * width, 2 * width, 0};
}

/// The points that a stretch of time shows, and one beyond each end: lines come from there.
std::pair<std::uint64_t, std::uint64_t> shown_points(const SeriesBuffer& points, const TimeRange& range) {
    std::uint64_t begin = points.lower_bound(range.begin);
    std::uint64_t end = points.lower_bound(range.end, begin);
    begin -= begin > points.begin() ? 1 : 0;
    end += end < points.end() ? 1 : 0;
    return {begin, end};
}

/// A level stretch is one piece, however many points it has: pieces are what a wide pen costs.
void append_point(QPolygonF& run, const QPointF& point) {
    const auto level = [&](const QPointF& other) { return std::abs(other.y() - point.y()) < kLevel; };
    if (run.size() >= 2 && level(run[run.size() - 1]) && level(run[run.size() - 2]))
        run.back().setX(point.x());
    else
        run << point;
}

}  // namespace

bool is_aggregated(const SeriesBuffer& points, const TimeRange& range, int columns) {
    const auto [begin, end] = shown_points(points, range);
    return end - begin > static_cast<std::uint64_t>(std::max(columns, 1)) * 2;
}

LinePainter::LinePainter(QImage& picture, const QRect& clip, const Theme& theme, const TimeScale& time,
                         const ValueScale& value)
    : scale_(picture.devicePixelRatio()),
      raster_(
          picture,
          QRectF(clip.x() * scale_, clip.y() * scale_, clip.width() * scale_, clip.height() * scale_).toAlignedRect()),
      theme_(theme),
      time_{time.range, time.left * scale_, time.width * scale_},
      value_{value.range, value.logarithmic, value.top * scale_, value.height * scale_} {}

bool LinePainter::draw(const Trace& trace, Time since) {
    const bool aggregated = is_aggregated(trace.points, time_.range, static_cast<int>(time_.width));
    if (aggregated) {
        draw_columns(trace, since);
        return true;
    }
    const auto [begin, end] =
        shown_points(trace.points, {std::max(since, time_.range.begin), std::max(since, time_.range.end)});
    draw_points(trace, begin, end);
    return false;
}

QPointF LinePainter::pixel_of(const Point& point) const {
    const double y = std::clamp(value_.to_pixel(point.value), -kFarOff, kFarOff);
    return {time_.to_pixel(point.time), y};
}

double LinePainter::way_to(Time time) const {
    return static_cast<double>(time) * time_.width / static_cast<double>(std::max<Time>(time_.range.span(), 1));
}

void LinePainter::draw_points(const Trace& trace, std::uint64_t begin, std::uint64_t end) {
    const bool is_dashed = trace.style.stroke != Stroke::solid;
    if (is_dashed)
        begin = std::max(begin / kDashedPoints * kDashedPoints, trace.points.begin());
    QPolygonF run;
    double phase = 0;
    for (std::uint64_t number = begin; number < end; ++number) {
        const Point point = trace.points.at(number);
        if (std::isnan(point.value)) {
            draw_run(trace, run, phase);
            run.clear();
            continue;
        }
        const QPointF at = pixel_of(point);
        append_point(run, at);
        if (is_dashed && number % kDashedPoints == 0) {
            if (run.size() > 1)
                draw_run(trace, run, phase);
            run = {at};
        }
        if (run.size() == 1)
            phase = way_to(point.time);
    }
    draw_run(trace, run, phase);
}

void LinePainter::draw_run(const Trace& trace, const QPolygonF& run, double phase) {
    if (run.isEmpty())
        return;
    const QRgb colour = theme_.line(trace.style).rgb();
    if (trace.filled)
        raster_.tint_under(run, value_.top + value_.height, colour, kTint);
    if (run.size() == 1)  // between two gaps: a dot, for nothing would be seen of it
        return raster_.dot(run.front(), kDot * scale_, colour);
    if (trace.style.stroke == Stroke::solid)
        return raster_.stroke(run, width_of(trace) * scale_, colour);
    StrokeRaster::Dash dash = dash_of(trace, scale_);
    dash.phase = phase;
    raster_.dashes(run, width_of(trace) * scale_, dash, colour);
}

void LinePainter::draw_columns(const Trace& trace, Time since) {
    const auto all = static_cast<std::size_t>(std::max(1.0, time_.width));
    const double span = static_cast<double>(time_.range.span()), per_column = span / static_cast<double>(all);
    const double older = std::clamp(static_cast<double>(since - time_.range.begin), 0.0, span);
    const std::size_t skipped = std::min(static_cast<std::size_t>(older / per_column), all - 1);
    columns_.resize(all - skipped);
    trace.points.columns(time_.range.begin + static_cast<Time>(std::llround(per_column * static_cast<double>(skipped))),
                         time_.range.end, columns_);
    const double edge = width_of(trace) * scale_ / 2;
    const int left = static_cast<int>(std::floor(time_.left)) + static_cast<int>(skipped);
    const StrokeRaster::Dash dash = dash_of(trace, scale_);
    const bool is_dashed = trace.style.stroke != Stroke::solid;
    const double way = way_to(time_.range.begin) + static_cast<double>(skipped);
    const QRgb colour = theme_.line(trace.style).rgb();
    tops_.assign(columns_.size(), std::nan(""));
    const Bucket* before = nullptr;  // a column that this one's line comes from
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        const Bucket& column = columns_[i];
        if (column.empty()) {
            // No point in this column: the line goes on over it, unless a gap was recorded here.
            before = column.points != 0 ? nullptr : before;
            continue;
        }
        double low = column.min, high = column.max;
        if (before != nullptr) {
            low = std::min(low, before->last);
            high = std::max(high, before->last);
        }
        const double top = value_.to_pixel(high), bottom = value_.to_pixel(low);
        tops_[i] = top;
        // Strokes: parts of a line are left out, of a peak never.
        const bool in_hole = is_dashed && std::fmod(way + static_cast<double>(i), dash.on + dash.off) >= dash.on;
        if (!in_hole || bottom - top > kFlat * scale_)
            raster_.column(left + static_cast<int>(i), top - edge, bottom + edge, colour);
        before = column.has_gap() ? nullptr : &column;
    }
    if (trace.filled)
        raster_.tint_columns(left, tops_, value_.top + value_.height, colour, kTint);
}

ValueRange visible_range(const Chart& chart, const TimeRange& range) {
    Bucket all;
    for (const auto& trace : chart.traces) {
        if (!trace->visible)
            continue;
        const auto [begin, end] = shown_points(trace->points, range);
        all.add(trace->points.aggregate(begin, end));
    }
    return {all.min, all.max};
}

}  // namespace egpu::ui
