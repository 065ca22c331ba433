// SPDX-License-Identifier: Apache-2.0
// ChartWidget: what mouse, wheel and keys do.
#include <QActionGroup>
#include <QContextMenuEvent>
#include <QKeyEvent>
#include <QMenu>
#include <QMouseEvent>
#include <QWheelEvent>
#include <cmath>

#include "ui/chart/chart_widget.hpp"

namespace egpu::ui {
namespace {

constexpr double kWheelStep = 120;  ///< a notch, as Qt counts
constexpr double kZoomPerNotch = 0.8;
constexpr double kPanShare = 0.15;     ///< of the view, for a key
constexpr double kLeastSelection = 4;  ///< pixels: less is a click

}  // namespace

void ChartWidget::resizeEvent(QResizeEvent*) {
    ground_stale_ = lines_stale_ = true;
}

void ChartWidget::changeEvent(QEvent* event) {
    if (event->type() == QEvent::FontChange)
        ground_stale_ = lines_stale_ = true;
    QWidget::changeEvent(event);
}

void ChartWidget::wheelEvent(QWheelEvent* event) {
    const QPoint turned = event->angleDelta();
    auto& viewport = link_.viewport();
    if (viewport.following())
        viewport.show(time_scale().range);  // what is seen: a view that follows is drawn at whole pixels
    if (event->modifiers().testFlag(Qt::ShiftModifier) || std::abs(turned.x()) > std::abs(turned.y())) {
        const double notches = (turned.x() != 0 ? turned.x() : turned.y()) / kWheelStep;
        viewport.pan(-static_cast<Time>(notches * kPanShare * static_cast<double>(viewport.range().span())));
    } else {
        viewport.zoom(std::pow(kZoomPerNotch, turned.y() / kWheelStep), time_scale().to_time(event->position().x()));
    }
    link_.view_moved();
    event->accept();
}

void ChartWidget::mousePressEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton)
        return;
    drag_ = event->modifiers().testFlag(Qt::ShiftModifier) ? Drag::select : Drag::pan;
    drag_from_ = drag_to_ = event->position();
    drag_range_ = time_scale().range;
}

void ChartWidget::mouseMoveEvent(QMouseEvent* event) {
    const TimeScale scale = time_scale();
    drag_to_ = event->position();
    if (drag_ == Drag::pan && drag_to_.x() != drag_from_.x()) {
        const double moved = (drag_to_.x() - drag_from_.x()) / scale.width * static_cast<double>(drag_range_.span());
        const Time by = static_cast<Time>(moved);
        link_.viewport().show({drag_range_.begin - by, drag_range_.end - by});
        link_.view_moved();
    }
    const QRect area = plot_area();
    const bool inside = event->position().x() >= area.left() && event->position().x() <= area.right();
    link_.set_cursor(inside ? std::optional(time_scale().to_time(event->position().x())) : std::nullopt);
    update();
}

void ChartWidget::mouseReleaseEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton)
        return;
    if (drag_ == Drag::select && std::abs(drag_to_.x() - drag_from_.x()) >= kLeastSelection) {
        const TimeScale scale = time_scale();
        link_.viewport().show({scale.to_time(std::min(drag_from_.x(), drag_to_.x())),
                               scale.to_time(std::max(drag_from_.x(), drag_to_.x()))});
        link_.view_moved();
    }
    drag_ = Drag::none;
    update();
}

void ChartWidget::mouseDoubleClickEvent(QMouseEvent*) {
    drag_ = Drag::none;
    link_.viewport().fit();
    link_.view_moved();
}

void ChartWidget::leaveEvent(QEvent*) {
    link_.set_cursor(std::nullopt);
}

void ChartWidget::keyPressEvent(QKeyEvent* event) {
    auto& viewport = link_.viewport();
    const TimeRange range = viewport.range();
    const Time step = static_cast<Time>(kPanShare * static_cast<double>(range.span()));
    const Time middle = link_.cursor().value_or(range.begin + range.span() / 2);
    switch (event->key()) {
        case Qt::Key_Left:
        case Qt::Key_A:
            viewport.pan(-step);
            break;
        case Qt::Key_Right:
        case Qt::Key_D:
            viewport.pan(step);
            break;
        case Qt::Key_Up:
        case Qt::Key_W:
        case Qt::Key_Plus:
            viewport.zoom(kZoomPerNotch, middle);
            break;
        case Qt::Key_Down:
        case Qt::Key_S:
        case Qt::Key_Minus:
            viewport.zoom(1 / kZoomPerNotch, middle);
            break;
        case Qt::Key_L:
            return set_logarithmic(!chart_.logarithmic);
        case Qt::Key_Escape:
            link_.set_cursor(std::nullopt);
            return;
        default:
            return QWidget::keyPressEvent(event);
    }
    link_.view_moved();
}

void ChartWidget::contextMenuEvent(QContextMenuEvent* event) {
    QMenu menu(this);
    auto* logarithmic = menu.addAction(tr("Logarithmic axis\tL"));
    logarithmic->setCheckable(true);
    logarithmic->setChecked(chart_.logarithmic);
    connect(logarithmic, &QAction::toggled, this, &ChartWidget::set_logarithmic);
    menu.addSeparator();
    connect(menu.addAction(tr("Copy image")), &QAction::triggered, this, &ChartWidget::copy_image_asked);
    connect(menu.addAction(tr("Save image…")), &QAction::triggered, this, &ChartWidget::export_image_asked);
    connect(menu.addAction(tr("Save visible range as CSV…")), &QAction::triggered, this,
            &ChartWidget::export_csv_asked);
    menu.exec(event->globalPos());
}

}  // namespace egpu::ui
