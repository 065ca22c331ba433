// SPDX-License-Identifier: Apache-2.0
// LinePainter: a line of a chart over pixels. Where several points share a pixel their lowest and highest are drawn, so
// that the work follows the width of the picture and no peak is lost.
#pragma once

#include <QPolygonF>
#include <vector>

#include "ui/chart/stroke_raster.hpp"
#include "ui/chart/theme.hpp"
#include "ui/model/charts.hpp"
#include "ui/model/value_scale.hpp"

namespace egpu::ui {

/// Points of a line in a stretch of time, over this many columns: more than two a column are drawn as min and max.
bool is_aggregated(const SeriesBuffer& points, const TimeRange& range, int columns);

class LinePainter {
public:
    /// `time` and `value` are in the units of a widget; `picture` has `picture.devicePixelRatio()` pixels to each.
    /// Lines are drawn in `clip` (units of the widget) only. The picture outlives the painter.
    LinePainter(QImage& picture, const QRect& clip, const Theme& theme, const TimeScale& time, const ValueScale& value);

    /// True where it drew aggregated columns. What is older than `since` may be left out.
    bool draw(const Trace& trace, Time since);

private:
    void draw_points(const Trace& trace, std::uint64_t begin, std::uint64_t end);
    void draw_columns(const Trace& trace, Time since);
    void draw_run(const Trace& trace, const QPolygonF& run, double phase);
    QPointF pixel_of(const Point& point) const;
    /// Pixels from the session's start: what dashes are measured from, so that they move with the data.
    double way_to(Time time) const;

    double scale_;
    StrokeRaster raster_;
    const Theme& theme_;
    TimeScale time_;  ///< in pixels, as all below
    ValueScale value_;
    std::vector<Bucket> columns_;
    std::vector<double> tops_;
};

/// The lowest and highest value of the visible lines in a stretch of time; low > high where there is none.
ValueRange visible_range(const Chart& chart, const TimeRange& range);

}  // namespace egpu::ui
