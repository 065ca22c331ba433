// SPDX-License-Identifier: Apache-2.0
// LinePainter: a line of a chart over pixels. Where several points share a pixel their lowest and highest are drawn, so
// that the work follows the width of the picture and no peak is lost.
#pragma once

#include <QLineF>
#include <QPainter>
#include <QPolygonF>
#include <vector>

#include "ui/chart/theme.hpp"
#include "ui/model/charts.hpp"
#include "ui/model/value_scale.hpp"

namespace egpu::ui {

/// Points of a line in a stretch of time, over this many columns: more than two a column are drawn as min and max.
bool is_aggregated(const SeriesBuffer& points, const TimeRange& range, int columns);

class LinePainter {
public:
    LinePainter(QPainter& painter, const Theme& theme, const TimeScale& time, const ValueScale& value)
        : painter_(painter), theme_(theme), time_(time), value_(value) {}

    /// True where it drew aggregated columns.
    bool draw(const Trace& trace);

private:
    void draw_points(const Trace& trace, std::uint64_t begin, std::uint64_t end);
    void draw_columns(const Trace& trace);
    void draw_run(const Trace& trace, const QPolygonF& run);
    void fill_under(const Trace& trace, const QPolygonF& run);

    QPainter& painter_;
    const Theme& theme_;
    TimeScale time_;
    ValueScale value_;
    std::vector<Bucket> columns_;
    std::vector<QLineF> lines_;
};

/// The lowest and highest value of the visible lines in a stretch of time; low > high where there is none.
ValueRange visible_range(const Chart& chart, const TimeRange& range);

}  // namespace egpu::ui
