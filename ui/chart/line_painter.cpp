// SPDX-License-Identifier: Apache-2.0
#include "ui/chart/line_painter.hpp"

#include <algorithm>
#include <cmath>

namespace egpu::ui {
namespace {

constexpr double kLineWidth = 1.6, kWideWidth = 4;
constexpr double kLevel = 0.05;  ///< pixels
constexpr double kFlat = 3;      ///< pixels that a column is high at most where the line is drawn with its stroke
constexpr int kTint = 34;        ///< of 255, under filled lines

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

/// Where a dashed or dotted line of columns has its holes.
bool is_left_out(Stroke stroke, std::size_t column) {
    return stroke == Stroke::dashed ? column % 9 >= 6 : stroke == Stroke::dotted && column % 5 >= 2;
}

}  // namespace

bool is_aggregated(const SeriesBuffer& points, const TimeRange& range, int columns) {
    const auto [begin, end] = shown_points(points, range);
    return end - begin > static_cast<std::uint64_t>(std::max(columns, 1)) * 2;
}

bool LinePainter::draw(const Trace& trace) {
    const bool aggregated = is_aggregated(trace.points, time_.range, static_cast<int>(time_.width));
    if (aggregated) {
        draw_columns(trace);
        return true;
    }
    const auto [begin, end] = shown_points(trace.points, time_.range);
    draw_points(trace, begin, end);
    return false;
}

void LinePainter::draw_points(const Trace& trace, std::uint64_t begin, std::uint64_t end) {
    QPolygonF run;
    for (std::uint64_t number = begin; number < end; ++number) {
        const Point point = trace.points.at(number);
        if (std::isnan(point.value)) {
            draw_run(trace, run);
            run.clear();
        } else {
            append_point(run, QPointF(time_.to_pixel(point.time), value_.to_pixel(point.value)));
        }
    }
    draw_run(trace, run);
}

void LinePainter::draw_run(const Trace& trace, const QPolygonF& run) {
    if (run.isEmpty())
        return;
    painter_.setRenderHint(QPainter::Antialiasing, true);
    if (trace.filled)
        fill_under(trace, run);
    painter_.setPen(theme_.pen(trace.style, trace.wide ? kWideWidth : kLineWidth));
    painter_.setBrush(Qt::NoBrush);
    if (run.size() == 1) {  // between two gaps: a dot, for nothing would be seen of it
        painter_.setBrush(theme_.line(trace.style));
        painter_.drawEllipse(run.front(), 1.5, 1.5);
    } else {
        painter_.drawPolyline(run);
    }
}

void LinePainter::fill_under(const Trace& trace, const QPolygonF& run) {
    const double bottom = value_.top + value_.height;
    QPolygonF area = run;
    area << QPointF(run.back().x(), bottom) << QPointF(run.front().x(), bottom);
    QColor tint = theme_.line(trace.style);
    tint.setAlpha(kTint);
    painter_.setPen(Qt::NoPen);
    painter_.setBrush(tint);
    painter_.drawPolygon(area);
}

void LinePainter::draw_columns(const Trace& trace) {
    columns_.assign(static_cast<std::size_t>(std::max(1.0, time_.width)), Bucket());
    trace.points.columns(time_.range.begin, time_.range.end, columns_);
    lines_.clear();
    const double edge = trace.wide ? (kWideWidth - 1) / 2 : 0;
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
        const double x = std::floor(time_.left) + static_cast<double>(i) + 0.5;
        const double top = value_.to_pixel(high), bottom = value_.to_pixel(low);
        // Strokes: parts of a line are left out, of a peak never.
        if (bottom - top > kFlat || !is_left_out(trace.style.stroke, i))
            lines_.emplace_back(x, top - edge, x, std::max(bottom, top + 1) + edge);
        before = column.has_gap() ? nullptr : &column;
    }
    painter_.setRenderHint(QPainter::Antialiasing, false);
    if (trace.filled) {
        QColor tint = theme_.line(trace.style);
        tint.setAlpha(kTint);
        const double ground = value_.top + value_.height;
        for (const auto& line : lines_)
            painter_.fillRect(QRectF(line.x1() - 0.5, line.y1(), 1, ground - line.y1()), tint);
    }
    QPen pen(theme_.line(trace.style), 1);
    pen.setCapStyle(Qt::FlatCap);
    painter_.setPen(pen);
    painter_.drawLines(lines_.data(), static_cast<int>(lines_.size()));
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
