// SPDX-License-Identifier: Apache-2.0
#include "ui/chart/chart_stack.hpp"

#include <QHBoxLayout>
#include <QLabel>
#include <QVBoxLayout>

namespace egpu::ui {
namespace {

constexpr int kLeastHeight = 150;

}  // namespace

ChartStack::ChartStack(ChartLink& link, QWidget* parent)
    : QScrollArea(parent), link_(link), content_(new QWidget), layout_(new QVBoxLayout(content_)), hidden_(new QLabel) {
    layout_->setContentsMargins(0, 0, 0, 0);
    layout_->setSpacing(1);
    hidden_->setProperty("quiet", true);
    hidden_->setContentsMargins(10, 3, 10, 3);
    hidden_->hide();
    layout_->addWidget(hidden_);
    setWidget(content_);
    setWidgetResizable(true);
    setFrameShape(QFrame::NoFrame);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
}

void ChartStack::set_charts(Charts* charts) {
    for (const auto& row : rows_)
        delete row.frame;
    rows_.clear();
    charts_ = charts;
    data_changed();
}

void ChartStack::add_row(Chart& chart, std::size_t place) {
    Row row;
    row.frame = new QWidget(content_);
    row.chart = new ChartWidget(chart, link_, row.frame);
    row.legend = new Legend(chart, link_, row.frame);
    auto* line = new QHBoxLayout(row.frame);
    line->setContentsMargins(0, 0, 0, 0);
    line->setSpacing(0);
    line->addWidget(row.chart, 1);
    line->addWidget(row.legend);
    row.frame->setMinimumHeight(kLeastHeight);
    row.chart->set_theme(*theme_);
    row.legend->set_theme(*theme_);
    connect(row.legend, &Legend::visibility_changed, row.chart, &ChartWidget::data_changed);
    layout_->insertWidget(static_cast<int>(place), row.frame, chart.rank == 0 ? 3 : 2);
    rows_.insert(rows_.begin() + static_cast<std::ptrdiff_t>(place), row);
    Q_EMIT chart_added(row.chart);
}

void ChartStack::data_changed(bool in_view) {
    if (charts_ == nullptr)
        return;
    for (std::size_t i = 0; i < charts_->all().size(); ++i)
        if (i >= rows_.size() || &rows_[i].chart->chart() != charts_->all()[i].get())
            add_row(*charts_->all()[i], i);
    arrange();
    for (const auto& row : rows_) {
        if (!row.chart->chart().shown)
            continue;
        if (in_view)
            row.chart->data_changed();
        row.legend->data_changed();
    }
}

void ChartStack::arrange() {
    ChartWidget* lowest = nullptr;
    int hidden = 0;
    for (const auto& row : rows_) {
        const bool shown = row.chart->chart().shown;
        if (row.frame->isHidden() == shown)
            row.frame->setVisible(shown);
        lowest = shown ? row.chart : lowest;
        hidden += shown ? 0 : 1;
    }
    for (const auto& row : rows_)
        row.chart->set_shows_time(row.chart == lowest);
    hidden_->setVisible(hidden != 0);
    hidden_->setText(hidden == 1 ? tr("1 chart is hidden: View, Charts")
                                 : tr("%1 charts are hidden: View, Charts").arg(hidden));
}

void ChartStack::set_theme(const Theme& theme) {
    theme_ = &theme;
    for (const auto& row : rows_) {
        row.chart->set_theme(theme);
        row.legend->set_theme(theme);
    }
}

std::vector<ChartWidget*> ChartStack::charts() const {
    std::vector<ChartWidget*> charts;
    for (const auto& row : rows_)
        charts.push_back(row.chart);
    return charts;
}

std::vector<Legend*> ChartStack::legends() const {
    std::vector<Legend*> legends;
    for (const auto& row : rows_)
        legends.push_back(row.legend);
    return legends;
}

double ChartStack::take_paint_ms() {
    double sum = 0;
    for (const auto& row : rows_)
        sum += row.chart->take_paint_ms();
    return sum;
}

}  // namespace egpu::ui
