// SPDX-License-Identifier: Apache-2.0
// Legend: the lines of one chart with their values, at the cursor or the newest; a tick hides and shows each.
#pragma once

#include <QStringList>
#include <QWidget>

#include "ui/chart/chart_link.hpp"
#include "ui/chart/theme.hpp"
#include "ui/model/charts.hpp"

namespace egpu::ui {

class Legend : public QWidget {
    Q_OBJECT
public:
    Legend(Chart& chart, ChartLink& link, QWidget* parent = nullptr);

    void set_theme(const Theme& theme);
    /// Painted again where a value reads otherwise, or there are more lines.
    void data_changed();
    /// "n/a" where the line has a gap or nothing there.
    QString value_text(const Trace& trace) const;
    QRect row_rectangle(int row) const;

Q_SIGNALS:
    /// Lines were hidden or shown.
    void visibility_changed();

protected:
    void paintEvent(QPaintEvent*) override;
    void mousePressEvent(QMouseEvent*) override;
    void wheelEvent(QWheelEvent*) override;
    void keyPressEvent(QKeyEvent*) override;
    bool event(QEvent*) override;

private:
    double value_of(const Trace& trace) const;
    QStringList value_texts() const;
    int rows() const { return static_cast<int>(chart_.traces.size()); }
    int rows_that_fit() const;
    int row_at(const QPoint& at) const;
    void toggle(int row);
    void show_all(bool visible);
    void paint_row(QPainter& painter, int row);
    void scroll_to(int first);

    Chart& chart_;
    ChartLink& link_;
    const Theme* theme_ = &theme(ThemeName::dark);
    QStringList painted_;  ///< values that were painted last
    int first_ = 0;        ///< row at the top
    int current_ = 0;      ///< that keys act on
};

}  // namespace egpu::ui
