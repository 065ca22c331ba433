// SPDX-License-Identifier: Apache-2.0
#include "ui/chart/chart_widget.hpp"

#include <QContextMenuEvent>
#include <QMenu>
#include <QPainter>
#include <algorithm>
#include <cmath>
#include <cstring>

#include "ui/chart/line_painter.hpp"

namespace egpu::ui {
namespace {

constexpr int kTitleHeight = 26, kUnderTitle = 6, kTimeHeight = 22, kBottom = 8, kRight = 10;
constexpr int kPixelsPerTimeLabel = 110, kPixelsPerValueLabel = 34;

/// An image as large as the widget. One that is so already is kept: memory that is new each frame costs more than what
/// is drawn into it.
void fit_to(const QWidget& widget, QImage& image) {
    const double ratio = widget.devicePixelRatioF();
    const QSize size = (QSizeF(widget.size()) * ratio).toSize();
    if (image.size() == size && image.devicePixelRatio() == ratio)
        return;
    image = QImage(size, QImage::Format_RGB32);
    image.setDevicePixelRatio(ratio);
}

}  // namespace

ChartWidget::ChartWidget(Chart& chart, ChartLink& link, QWidget* parent) : QWidget(parent), chart_(chart), link_(link) {
    setMouseTracking(true);
    setFocusPolicy(Qt::StrongFocus);
    setAttribute(Qt::WA_OpaquePaintEvent);
    setAccessibleName(QString::fromStdString(chart.title));
    setCursor(Qt::CrossCursor);
    range_ = round_range(1, 0, chart.logarithmic);
    connect(&link_, &ChartLink::view_changed, this, &ChartWidget::view_moved);
    connect(&link_, &ChartLink::cursor_changed, this, [this] { update(); });
}

void ChartWidget::set_theme(const Theme& theme) {
    theme_ = &theme;
    ground_stale_ = lines_stale_ = true;
    update();
}

void ChartWidget::set_shows_time(bool shows) {
    if (shows_time_ == shows)
        return;
    shows_time_ = shows;
    ground_stale_ = lines_stale_ = true;
    update();
}

void ChartWidget::data_changed() {
    lines_stale_ = true;
    update_value_range();
    update();
}

void ChartWidget::view_moved() {
    lines_stale_ = true;
    update_value_range();
    update();
}

void ChartWidget::update_value_range() {
    ValueRange seen = visible_range(chart_, link_.viewport().range());
    if (chart_.reference && seen.low <= seen.high && !chart_.logarithmic)
        seen.high = std::max(seen.high, chart_.reference->value);
    if (still_fits(range_, seen.low, seen.high, chart_.logarithmic))
        return;
    range_ = round_range(seen.low, seen.high, chart_.logarithmic);
    ground_stale_ = true;
}

void ChartWidget::set_logarithmic(bool logarithmic) {
    chart_.logarithmic = logarithmic;
    range_ = round_range(1, 0, logarithmic);
    ground_stale_ = true;
    view_moved();
}

QRect ChartWidget::plot_area() const {
    const int bottom = shows_time_ ? kTimeHeight : kBottom;
    return QRect(kAxisWidth, kTitleHeight + kUnderTitle, std::max(10, width() - kAxisWidth - kRight),
                 std::max(10, height() - kTitleHeight - kUnderTitle - bottom));
}

TimeScale ChartWidget::time_scale() const {
    const QRect area = plot_area();
    TimeRange range = link_.viewport().range();
    if (link_.viewport().following()) {
        // By whole pixels: the picture can then be moved (chart_scroll.cpp).
        const Time pixel = std::max<Time>(range.span() / area.width(), 1);
        const Time past = range.begin % pixel, by = past > 0 ? pixel - past : -past;
        range = {range.begin + by, range.end + by};
    }
    return {range, static_cast<double>(area.left()), static_cast<double>(area.width())};
}

ValueScale ChartWidget::value_scale() const {
    const QRect area = plot_area();
    return {range_, chart_.logarithmic, static_cast<double>(area.top()), static_cast<double>(area.height())};
}

double ChartWidget::take_paint_ms() {
    return std::exchange(paint_ms_, 0);
}

void ChartWidget::paintEvent(QPaintEvent*) {
    QElapsedTimer timer;
    timer.start();
    if (ground_stale_)
        paint_ground();
    if (ground_stale_ || (lines_stale_ && !paint_what_is_new()))
        paint_lines();
    ground_stale_ = lines_stale_ = false;
    QPainter painter(this);
    painter.drawImage(0, 0, picture_);
    paint_selection(painter);
    paint_cursor(painter);
    if (hasFocus()) {
        painter.setPen(QPen(theme_->accent, 1));
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(rect().adjusted(0, 0, -1, -1));
    }
    paint_ms_ += static_cast<double>(timer.nsecsElapsed()) / 1e6;
}

void ChartWidget::paint_ground() {
    fit_to(*this, ground_);
    ground_.fill(theme_->surface);
    QPainter painter(&ground_);
    painter.setFont(font());
    paint_value_axis(painter);
    paint_titles(painter);
}

void ChartWidget::paint_value_axis(QPainter& painter) {
    const QRect area = plot_area();
    const auto value = value_scale();
    const QPen grid(theme_->grid, 1), text(theme_->quiet_text, 1);
    for (const auto& tick :
         value_ticks(range_, chart_.logarithmic, chart_.unit, area.height() / kPixelsPerValueLabel)) {
        const int y = static_cast<int>(std::lround(value.to_pixel(tick.position)));
        if (y < area.top() - 1 || y > area.bottom() + 2)
            continue;
        painter.setPen(grid);
        if (!tick.label.empty() || !chart_.logarithmic)
            painter.drawLine(area.left(), y, area.right(), y);
        else
            painter.drawLine(area.left() - 4, y, area.left(), y);
        painter.setPen(text);
        painter.drawText(QRect(4, y - 10, kAxisWidth - 12, 20), Qt::AlignRight | Qt::AlignVCenter,
                         QString::fromStdString(tick.label));
    }
    painter.setPen(QPen(theme_->axis, 1));
    painter.drawLine(area.left(), area.top(), area.left(), area.bottom());
    painter.drawLine(area.left(), area.bottom(), area.right(), area.bottom());
}

void ChartWidget::paint_time_axis(QPainter& painter) {
    const QRect area = plot_area();
    const auto time = time_scale();
    const QPen grid(theme_->grid, 1), text(theme_->quiet_text, 1);
    for (const auto& tick :
         time_ticks(time.range.begin, time.range.end, std::max(1, area.width() / kPixelsPerTimeLabel))) {
        const int x = static_cast<int>(std::lround(time.to_pixel(static_cast<Time>(tick.position))));
        painter.setPen(grid);
        if (x > area.left() && x <= area.right())
            painter.drawLine(x, area.top(), x, area.bottom() - 1);
        if (!shows_time_ || tick.position < 0 || x < area.left() + 8 || x > area.right() - 8)
            continue;  // before 0 there was no session
        painter.setPen(text);
        painter.drawText(QRect(x - 60, area.bottom() + 3, 120, kTimeHeight - 4), Qt::AlignHCenter | Qt::AlignTop,
                         QString::fromStdString(tick.label));
    }
}

void ChartWidget::paint_titles(QPainter& painter) {
    QFont bold = font();
    bold.setBold(true);
    painter.setFont(bold);
    painter.setPen(theme_->text);
    const QString title = QString::fromStdString(chart_.title);
    const int left = 10;
    const int title_width = QFontMetrics(bold).horizontalAdvance(title);
    painter.drawText(QRect(left, 0, width() - left, kTitleHeight), Qt::AlignLeft | Qt::AlignVCenter, title);
    QString note = QString::fromLatin1(unit_name(chart_.unit));
    if (!chart_.note.empty())
        note += (note.isEmpty() ? QString() : QStringLiteral(" · ")) + QString::fromStdString(chart_.note);
    painter.setFont(font());
    painter.setPen(theme_->quiet_text);
    // A third of the width stays for what the lines' layer says at the right.
    const QRect room(left + title_width + 12, 0, width() * 2 / 3 - title_width - left, kTitleHeight);
    painter.drawText(room, Qt::AlignLeft | Qt::AlignVCenter,
                     QFontMetrics(font()).elidedText(note, Qt::ElideRight, room.width()));
}

void ChartWidget::paint_reference(QPainter& painter) {
    if (!chart_.reference)
        return;
    const QRect area = plot_area();
    const int y = static_cast<int>(std::lround(value_scale().to_pixel(chart_.reference->value)));
    if (y < area.top() || y > area.bottom())
        return;
    painter.setPen(QPen(theme_->quiet_text, 1, Qt::DashLine));
    painter.drawLine(area.left(), y, area.right(), y);
    painter.drawText(QRect(area.left() + 6, y - 18, area.width() - 12, 16), Qt::AlignRight | Qt::AlignBottom,
                     QString::fromStdString(chart_.reference->label));
}

void ChartWidget::paint_lines() {
    ++whole_pictures_;
    fit_to(*this, picture_);
    std::memcpy(picture_.bits(), ground_.constBits(), static_cast<std::size_t>(picture_.sizeInBytes()));
    QPainter axis(&picture_);
    axis.setFont(font());
    paint_time_axis(axis);
    paint_reference(axis);
    axis.end();
    const QRect area = plot_area();
    draw_lines(area.adjusted(1, -1, 1, 1), time_scale().range.begin);
    painted_ = state_now();
    const bool aggregated = std::any_of(painted_.lines.begin(), painted_.lines.end(),
                                        [](const auto& line) { return line.visible && line.aggregated; });
    const double per_pixel = static_cast<double>(link_.viewport().range().span()) / area.width();
    aggregation_ =
        aggregated ? tr("1 px = %1, min and max").arg(QString::fromStdString(span_text(per_pixel))) : QString();
    QPainter words(&picture_);
    words.setFont(font());
    paint_remarks(words);
}

void ChartWidget::draw_lines(const QRect& clip, Time since) {
    LinePainter lines(picture_, clip, *theme_, time_scale(), value_scale());
    // Totals are wide and lie under the others.
    for (const bool wide : {true, false})
        for (const auto& trace : chart_.traces)
            if (trace->visible && trace->wide == wide)
                lines.draw(*trace, since);
}

void ChartWidget::paint_remarks(QPainter& painter) {
    painter.setPen(theme_->quiet_text);
    if (const std::string empty = chart_.empty_text(); !empty.empty())
        painter.drawText(plot_area(), Qt::AlignCenter, QString::fromStdString(empty));
    QString remark = aggregation_;
    if (const auto hidden = chart_.hidden(); hidden != 0)
        remark = tr("%1 of %2 lines hidden").arg(hidden).arg(chart_.traces.size()) +
                 (remark.isEmpty() ? QString() : QStringLiteral(" · ")) + remark;
    painter.drawText(QRect(width() / 2, 0, width() / 2 - kRight, kTitleHeight), Qt::AlignRight | Qt::AlignVCenter,
                     remark);
}

QStringList ChartWidget::cursor_texts() const {
    QStringList texts;
    const auto cursor = link_.cursor();
    if (!cursor)
        return texts;
    for (const auto& trace : chart_.traces) {
        if (!trace->visible)
            continue;
        const auto point = trace->points.nearest(*cursor);
        const double value = point ? point->value : std::nan("");
        texts << QStringLiteral("%1\t%2\t%3")
                     .arg(QString::fromStdString(trace->name), QString::fromStdString(human_text(value, chart_.unit)),
                          QString::fromStdString(exact_text(value, chart_.unit)));
    }
    return texts;
}

void ChartWidget::paint_selection(QPainter& painter) {
    if (drag_ != Drag::select)
        return;
    QColor tint = theme_->accent;
    tint.setAlpha(50);
    const QRect area = plot_area();
    const double left = std::min(drag_from_.x(), drag_to_.x()), right = std::max(drag_from_.x(), drag_to_.x());
    painter.fillRect(QRectF(left, area.top(), right - left, area.height()), tint);
}

void ChartWidget::paint_cursor(QPainter& painter) {
    const auto cursor = link_.cursor();
    if (!cursor)
        return;
    const QRect area = plot_area();
    const int x = static_cast<int>(std::lround(time_scale().to_pixel(*cursor)));
    if (x < area.left() || x > area.right())
        return;
    painter.setPen(QPen(theme_->quiet_text, 1, Qt::DotLine));
    painter.drawLine(x, area.top(), x, area.bottom());
    const auto value = value_scale();
    painter.setRenderHint(QPainter::Antialiasing);
    for (const auto& trace : chart_.traces) {
        const auto point = trace->visible ? trace->points.nearest(*cursor) : std::nullopt;
        if (!point || std::isnan(point->value))
            continue;
        painter.setPen(QPen(theme_->surface, 1.5));
        painter.setBrush(theme_->line(trace->style));
        const QPointF at(time_scale().to_pixel(point->time), value.to_pixel(point->value));
        if (area.contains(at.toPoint()))
            painter.drawEllipse(at, 3.5, 3.5);
    }
    painter.setRenderHint(QPainter::Antialiasing, false);
    paint_cursor_values(painter, x);
}

}  // namespace egpu::ui
