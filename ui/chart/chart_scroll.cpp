// SPDX-License-Identifier: Apache-2.0
// ChartWidget: a picture that moves on with its session instead of being drawn again.
#include <QPainter>
#include <algorithm>
#include <cmath>
#include <cstring>

#include "ui/chart/chart_widget.hpp"
#include "ui/chart/line_painter.hpp"

namespace egpu::ui {
namespace {

/// Beside a point, what its line may cover: half the widest pen, a corner, soft edges.
constexpr double kReach = 6;

/// Moves what lies in `area` (pixels of the image) to the left.
void move_left(QImage& image, const QRect& area, int by) {
    const auto bytes = static_cast<std::size_t>(area.width() - by) * sizeof(QRgb);
    for (int y = area.top(); y <= area.bottom(); ++y) {
        QRgb* const row = reinterpret_cast<QRgb*>(image.scanLine(y)) + area.left();
        std::memmove(row, row + by, bytes);
    }
}

void copy_area(const QImage& from, QImage& to, const QRect& area) {
    const auto bytes = static_cast<std::size_t>(area.width()) * sizeof(QRgb);
    for (int y = area.top(); y <= area.bottom(); ++y)
        std::memcpy(reinterpret_cast<QRgb*>(to.scanLine(y)) + area.left(),
                    reinterpret_cast<const QRgb*>(from.constScanLine(y)) + area.left(), bytes);
}

QRect scaled(const QRect& area, int ratio) {
    return {area.topLeft() * ratio, area.size() * ratio};
}

}  // namespace

ChartWidget::Painted ChartWidget::state_now() const {
    Painted now;
    now.time = time_scale().range;
    now.area = plot_area();
    now.range = range_;
    now.logarithmic = chart_.logarithmic;
    now.is_plain = !chart_.reference && chart_.empty_text().empty();
    for (const auto& trace : chart_.traces)
        now.lines.push_back(
            {trace->visible, is_aggregated(trace->points, now.time, now.area.width()), trace->points.end()});
    return now;
}

std::optional<double> ChartWidget::changed_from(const Painted& now) const {
    if (!painted_.is_plain || !now.is_plain || painted_.lines.size() != now.lines.size() || painted_.area != now.area ||
        painted_.range != now.range || painted_.logarithmic != now.logarithmic ||
        painted_.time.span() != now.time.span())
        return std::nullopt;
    const TimeScale scale = time_scale();
    double left = scale.left + scale.width;
    for (std::size_t i = 0; i < now.lines.size(); ++i) {
        const auto &before = painted_.lines[i], &line = now.lines[i];
        if (before.visible != line.visible)
            return std::nullopt;
        if (!line.visible || before.end == line.end)
            continue;
        const auto& points = chart_.traces[i]->points;
        if (line.aggregated != before.aggregated || before.end <= points.begin() || before.end > line.end)
            return std::nullopt;
        left = std::min(left, scale.to_pixel(points.at(before.end - 1).time));
    }
    return left;
}

bool ChartWidget::paint_what_is_new() {
    const Painted now = state_now();
    const auto changed = changed_from(now);
    const int ratio = static_cast<int>(picture_.devicePixelRatio());
    const Time pixel = now.time.span() / std::max(now.area.width(), 1);
    if (!changed || ratio != picture_.devicePixelRatio() || picture_.size() != ground_.size() || pixel < 1)
        return false;
    const Time moved = now.time.begin - painted_.time.begin;
    const QRect plot = now.area.adjusted(1, -1, 1, 1);
    if (moved < 0 || moved % pixel != 0 || moved / pixel >= plot.width() / 2)
        return false;
    const int by = static_cast<int>(moved / pixel);
    const double from = std::floor(std::min(*changed, static_cast<double>(plot.right() - by)) - kReach);
    if (from <= plot.left())
        return false;
    QRect strip = plot;
    strip.setLeft(static_cast<int>(from));
    const QRect labels(0, plot.bottom() + 1, width(), height() - plot.bottom() - 1);
    if (by > 0)
        move_left(picture_, scaled(plot, ratio), by * ratio);
    copy_area(ground_, picture_, scaled(strip, ratio));
    copy_area(ground_, picture_, scaled(labels, ratio));
    QPainter axis(&picture_);
    axis.setFont(font());
    axis.setClipRegion(QRegion(strip) | labels);
    paint_time_axis(axis);
    axis.end();
    draw_lines(strip, time_scale().to_time(from - kReach));
    painted_ = now;
    return true;
}

}  // namespace egpu::ui
