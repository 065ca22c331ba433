// SPDX-License-Identifier: Apache-2.0
// ChartStack: all charts above each other over one time axis, each with its legend.
#pragma once

#include <QScrollArea>
#include <vector>

#include "ui/chart/chart_widget.hpp"
#include "ui/chart/legend.hpp"

class QLabel;
class QVBoxLayout;

namespace egpu::ui {

class ChartStack : public QScrollArea {
    Q_OBJECT
public:
    /// `link` outlives the stack.
    explicit ChartStack(ChartLink& link, QWidget* parent = nullptr);

    /// Shows these charts (nullptr: none), which outlive the stack or the next call.
    void set_charts(Charts* charts);
    void set_theme(const Theme& theme);
    /// New points, lines or charts: what moved is drawn again. Where none of it is `in_view`, lines stay as they are.
    void data_changed(bool in_view = true);
    std::vector<ChartWidget*> charts() const;
    std::vector<Legend*> legends() const;
    /// Of all charts since the last call.
    double take_paint_ms();

Q_SIGNALS:
    void chart_added(ChartWidget* chart);

private:
    struct Row {
        QWidget* frame = nullptr;
        ChartWidget* chart = nullptr;
        Legend* legend = nullptr;
    };
    void add_row(Chart& chart, std::size_t place);
    /// Hides the charts that are not to be shown, and says so; the lowest has the time axis.
    void arrange();

    ChartLink& link_;
    Charts* charts_ = nullptr;
    const Theme* theme_ = &theme(ThemeName::dark);
    QWidget* content_;
    QVBoxLayout* layout_;
    QLabel* hidden_;
    std::vector<Row> rows_;
};

}  // namespace egpu::ui
