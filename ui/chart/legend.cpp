// SPDX-License-Identifier: Apache-2.0
#include "ui/chart/legend.hpp"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QPainter>
#include <QToolTip>
#include <cmath>

namespace egpu::ui {
namespace {

constexpr int kHead = 26, kTop = 32, kRow = 21, kLeft = 6, kBox = 13, kSample = 20, kValueWidth = 92, kRight = 8;

}  // namespace

Legend::Legend(Chart& chart, ChartLink& link, QWidget* parent) : QWidget(parent), chart_(chart), link_(link) {
    setFocusPolicy(Qt::StrongFocus);
    setAttribute(Qt::WA_OpaquePaintEvent);
    setFixedWidth(320);
    setAccessibleName(tr("Lines of %1").arg(QString::fromStdString(chart.title)));
    connect(&link_, &ChartLink::cursor_changed, this, [this] { update(); });
}

void Legend::set_theme(const Theme& theme) {
    theme_ = &theme;
    update();
}

double Legend::value_of(const Trace& trace) const {
    const auto time = link_.cursor() ? link_.cursor() : link_.newest();
    const auto point = time ? trace.points.nearest(*time) : trace.points.last();
    return point ? point->value : std::nan("");
}

QString Legend::value_text(const Trace& trace) const {
    return QString::fromStdString(human_text(value_of(trace), chart_.unit));
}

QStringList Legend::value_texts() const {
    QStringList texts;
    for (const auto& trace : chart_.traces)
        texts << value_text(*trace);
    return texts;
}

void Legend::data_changed() {
    if (value_texts() != painted_)
        update();
}

QRect Legend::row_rectangle(int row) const {
    return QRect(0, kTop + (row - first_) * kRow, width(), kRow);
}

int Legend::rows_that_fit() const {
    return std::max(1, (height() - kTop) / kRow);
}

int Legend::row_at(const QPoint& at) const {
    const int row = first_ + (at.y() - kTop) / kRow;
    return at.y() >= kTop && row < rows() ? row : -1;
}

void Legend::paintEvent(QPaintEvent*) {
    painted_ = value_texts();
    QPainter painter(this);
    painter.fillRect(rect(), theme_->surface);
    painter.setPen(theme_->quiet_text);
    const QString when = link_.cursor() ? tr("at the cursor") : tr("newest");
    painter.drawText(QRect(kLeft, 0, width() - kLeft - kRight, kHead), Qt::AlignRight | Qt::AlignVCenter, when);
    for (int row = first_; row < rows() && row < first_ + rows_that_fit(); ++row)
        paint_row(painter, row);
    const int below = rows() - first_ - rows_that_fit();
    if (below > 0 || first_ > 0) {
        painter.setPen(theme_->quiet_text);
        painter.drawText(QRect(kLeft, 0, width(), kHead), Qt::AlignLeft | Qt::AlignVCenter,
                         tr("%1–%2 of %3").arg(first_ + 1).arg(std::min(rows(), first_ + rows_that_fit())).arg(rows()));
    }
}

void Legend::paint_row(QPainter& painter, int row) {
    const Trace& trace = *chart_.traces[static_cast<std::size_t>(row)];
    const QRect area = row_rectangle(row);
    if (hasFocus() && row == current_)
        painter.fillRect(area, theme_->raised);
    const QRect box(kLeft, area.top() + (kRow - kBox) / 2, kBox, kBox);
    const QColor colour = theme_->line(trace.style);
    painter.setPen(QPen(trace.visible ? colour : theme_->axis, 1));
    painter.setBrush(trace.visible ? QBrush(colour) : Qt::NoBrush);
    painter.drawRect(box.adjusted(0, 0, -1, -1));
    if (trace.visible) {
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setPen(QPen(theme_->surface, 2));
        painter.drawPolyline(
            QPolygonF({QPointF(box.left() + 2.5, box.top() + 6.5), QPointF(box.left() + 5, box.top() + 9),
                       QPointF(box.left() + 10, box.top() + 3.5)}));
        painter.setRenderHint(QPainter::Antialiasing, false);
    }
    const int middle = area.top() + kRow / 2;
    painter.setPen(theme_->pen(trace.style, trace.wide ? 4 : 2));
    painter.drawLine(kLeft + kBox + 7, middle, kLeft + kBox + 7 + kSample, middle);
    painter.setPen(trace.visible ? theme_->text : theme_->quiet_text);
    const int text_left = kLeft + kBox + 7 + kSample + 7;
    const QRect name(text_left, area.top(), width() - text_left - kValueWidth - kRight, kRow);
    painter.drawText(name, Qt::AlignLeft | Qt::AlignVCenter,
                     fontMetrics().elidedText(QString::fromStdString(trace.name), Qt::ElideMiddle, name.width()));
    painter.drawText(QRect(width() - kValueWidth - kRight, area.top(), kValueWidth, kRow),
                     Qt::AlignRight | Qt::AlignVCenter, value_text(trace));
}

void Legend::toggle(int row) {
    if (row < 0 || row >= rows())
        return;
    auto& trace = *chart_.traces[static_cast<std::size_t>(row)];
    trace.visible = !trace.visible;
    current_ = row;
    update();
    Q_EMIT visibility_changed();
}

void Legend::show_all(bool visible) {
    for (const auto& trace : chart_.traces)
        trace->visible = visible;
    update();
    Q_EMIT visibility_changed();
}

void Legend::mousePressEvent(QMouseEvent* event) {
    if (event->button() == Qt::LeftButton)
        toggle(row_at(event->position().toPoint()));
}

void Legend::scroll_to(int first) {
    first_ = std::clamp(first, 0, std::max(0, rows() - rows_that_fit()));
    update();
}

void Legend::wheelEvent(QWheelEvent* event) {
    if (rows() <= rows_that_fit())
        return event->ignore();
    scroll_to(first_ + (event->angleDelta().y() > 0 ? -1 : 1));
    event->accept();
}

void Legend::keyPressEvent(QKeyEvent* event) {
    switch (event->key()) {
        case Qt::Key_Up:
        case Qt::Key_Down:
            current_ = std::clamp(current_ + (event->key() == Qt::Key_Up ? -1 : 1), 0, std::max(0, rows() - 1));
            if (current_ < first_ || current_ >= first_ + rows_that_fit())
                scroll_to(current_ < first_ ? current_ : current_ - rows_that_fit() + 1);
            return update();
        case Qt::Key_Space:
            return toggle(current_);
        case Qt::Key_A:
            return show_all(chart_.hidden() != 0);
        default:
            return QWidget::keyPressEvent(event);
    }
}

bool Legend::event(QEvent* event) {
    // Space pauses the window elsewhere.
    if (event->type() == QEvent::ShortcutOverride && static_cast<QKeyEvent*>(event)->key() == Qt::Key_Space) {
        event->accept();
        return true;
    }
    if (event->type() != QEvent::ToolTip)
        return QWidget::event(event);
    auto* help = static_cast<QHelpEvent*>(event);
    const int row = row_at(help->pos());
    if (row < 0) {
        QToolTip::showText(help->globalPos(), tr("Click or press Space to hide and show a line, A for all"), this);
        return true;
    }
    const Trace& trace = *chart_.traces[static_cast<std::size_t>(row)];
    QToolTip::showText(help->globalPos(),
                       QString::fromStdString(trace.name + "\n" + exact_text(value_of(trace), chart_.unit)), this);
    return true;
}

}  // namespace egpu::ui
