// SPDX-License-Identifier: Apache-2.0
// ChartWidget: one chart. Three layers: ground with titles and the axis of values (kept until that axis or the size
// changes), lines with the axis of time (kept until data or a range changes), and what follows the mouse, which alone
// is painted when the mouse moves.
#pragma once

#include <QElapsedTimer>
#include <QImage>
#include <QWidget>
#include <optional>
#include <vector>

#include "ui/chart/chart_link.hpp"
#include "ui/chart/theme.hpp"
#include "ui/model/charts.hpp"
#include "ui/model/value_scale.hpp"

namespace egpu::ui {

/// Left edges of all charts are the same whatever their labels are.
inline constexpr int kAxisWidth = 78;

class ChartWidget : public QWidget {
    Q_OBJECT
public:
    /// `chart` and `link` outlive the widget.
    ChartWidget(Chart& chart, ChartLink& link, QWidget* parent = nullptr);

    Chart& chart() { return chart_; }
    void set_theme(const Theme& theme);
    /// Data of this chart may have changed: its lines are drawn again.
    void data_changed();
    /// The time axis is labelled on this chart (the lowest one).
    void set_shows_time(bool shows);

    /// Milliseconds that painting took since the last call.
    double take_paint_ms();

    QSize sizeHint() const override { return {600, 220}; }
    QSize minimumSizeHint() const override { return {280, 120}; }

    /// What stands where, for drawing and for the mouse.
    QRect plot_area() const;
    TimeScale time_scale() const;
    const ValueRange& value_range() const { return range_; }
    /// "vector_add, read  2.12 TB/s  2 123 456 789 000 B/s" for each visible line at the cursor; empty without cursor.
    QStringList cursor_texts() const;
    /// "1 px = 12 ms, min and max", or "" where every point is drawn.
    QString aggregation_text() const { return aggregation_; }
    /// How often lines were drawn as a whole, not moved on.
    std::uint64_t whole_pictures() const { return whole_pictures_; }

Q_SIGNALS:
    /// A key or a menu asked for it.
    void export_image_asked();
    void export_csv_asked();
    void copy_image_asked();

protected:
    void paintEvent(QPaintEvent*) override;
    void resizeEvent(QResizeEvent*) override;
    void wheelEvent(QWheelEvent*) override;
    void mousePressEvent(QMouseEvent*) override;
    void mouseMoveEvent(QMouseEvent*) override;
    void mouseReleaseEvent(QMouseEvent*) override;
    void mouseDoubleClickEvent(QMouseEvent*) override;
    void leaveEvent(QEvent*) override;
    void keyPressEvent(QKeyEvent*) override;
    void contextMenuEvent(QContextMenuEvent*) override;
    void changeEvent(QEvent*) override;

private:
    void view_moved();
    void update_value_range();
    void paint_ground();
    void paint_value_axis(QPainter& painter);
    void paint_time_axis(QPainter& painter);
    void paint_titles(QPainter& painter);
    void paint_reference(QPainter& painter);
    void paint_lines();
    /// The same where the view has only moved on by whole pixels, as it does 20 times a second while it follows a
    /// session: the picture moves, and what came since is drawn beside it. False: that does not do.
    bool paint_what_is_new();
    void draw_lines(const QRect& clip, Time since);
    /// What the picture says in words: why it is empty, what is hidden, what a pixel stands for.
    void paint_remarks(QPainter& painter);
    void paint_cursor(QPainter& painter);
    void paint_cursor_values(QPainter& painter, int x);
    void paint_selection(QPainter& painter);
    ValueScale value_scale() const;
    void set_logarithmic(bool logarithmic);

    Chart& chart_;
    ChartLink& link_;
    const Theme* theme_ = &theme(ThemeName::dark);
    bool shows_time_ = true;
    ValueRange range_;
    bool ground_stale_ = true, lines_stale_ = true;
    QImage ground_, picture_;
    /// Of what the picture was made; where no more than the newest points and the time differ, it can be moved.
    struct Painted {
        struct Line {
            bool visible = false, aggregated = false;
            std::uint64_t end = 0;  ///< number after its last point
        };
        TimeRange time;
        QRect area;
        ValueRange range;
        bool logarithmic = false, is_plain = false;  ///< plain: nothing in the plot but lines
        std::vector<Line> lines;
    };
    Painted state_now() const;
    /// The leftmost pixel at which lines are not as they were; nullopt: all over.
    std::optional<double> changed_from(const Painted& now) const;
    Painted painted_;
    std::uint64_t whole_pictures_ = 0;
    QString aggregation_;
    double paint_ms_ = 0;
    // What the mouse does: pans, or (with Shift) marks a stretch of time to zoom to.
    enum class Drag { none, pan, select } drag_ = Drag::none;
    QPointF drag_from_, drag_to_;
    TimeRange drag_range_;
};

}  // namespace egpu::ui
