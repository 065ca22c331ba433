// SPDX-License-Identifier: Apache-2.0
// ChartWidget: the box of values beside the cursor.
#include <QPainter>
#include <cmath>

#include "ui/chart/chart_widget.hpp"

namespace egpu::ui {
namespace {

constexpr int kPadding = 8, kGap = 14, kSwatch = 20, kAway = 12;
constexpr int kMostRows = 12;

}  // namespace

void ChartWidget::paint_cursor_values(QPainter& painter, int x) {
    QStringList rows = cursor_texts();
    if (rows.isEmpty() || !underMouse())
        return;
    const auto left_out = rows.size() - kMostRows;
    if (left_out > 0)
        rows.resize(kMostRows);
    const QFontMetrics metrics(font());
    int widths[3] = {};
    QList<QStringList> cells;
    for (const auto& row : rows) {
        cells << row.split(QLatin1Char('\t'));
        cells.back()[0] = metrics.elidedText(cells.back()[0], Qt::ElideMiddle, 260);
        for (int column = 0; column < 3; ++column)
            widths[column] = std::max(widths[column], metrics.horizontalAdvance(cells.back()[column]));
    }
    const double at = static_cast<double>(link_.cursor().value_or(0)) / 1e9;
    const QString head = tr("at %1 s").arg(at, 0, 'f', 3) + (left_out > 0 ? tr(", %1 more").arg(left_out) : QString());
    const int line = metrics.height() + 3;
    const int width = kSwatch + 6 + widths[0] + widths[1] + widths[2] + 2 * kGap + 2 * kPadding;
    const int height = line * static_cast<int>(cells.size() + 1) + 2 * kPadding;
    const QRect area = plot_area();
    const int left = x + kAway + width <= area.right() ? x + kAway : std::max(area.left(), x - kAway - width);
    const QRect box(left, std::max(0, std::min(area.top() + 6, this->height() - height - 2)), width, height);
    QColor ground = theme_->raised;
    ground.setAlpha(238);
    painter.setPen(QPen(theme_->axis, 1));
    painter.setBrush(ground);
    painter.drawRoundedRect(box, 4, 4);
    painter.setPen(theme_->quiet_text);
    painter.drawText(box.left() + kPadding, box.top() + kPadding + metrics.ascent(), head);
    std::size_t shown = 0;
    int y = box.top() + kPadding + line;
    for (const auto& trace : chart_.traces) {
        if (!trace->visible || shown >= static_cast<std::size_t>(cells.size()))
            continue;
        const auto& row = cells[static_cast<qsizetype>(shown++)];
        const int middle = y + metrics.height() / 2;
        painter.setPen(theme_->pen(trace->style, 2));
        painter.drawLine(box.left() + kPadding, middle, box.left() + kPadding + kSwatch, middle);
        int cell = box.left() + kPadding + kSwatch + 6;
        painter.setPen(theme_->text);
        painter.drawText(cell, y + metrics.ascent(), row[0]);
        cell += widths[0] + kGap;
        painter.drawText(QRect(cell, y, widths[1], line), Qt::AlignRight | Qt::AlignTop, row[1]);
        cell += widths[1] + kGap;
        painter.setPen(theme_->quiet_text);
        painter.drawText(QRect(cell, y, widths[2], line), Qt::AlignRight | Qt::AlignTop, row[2]);
        y += line;
    }
}

}  // namespace egpu::ui
