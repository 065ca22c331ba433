// SPDX-License-Identifier: Apache-2.0
#include "ui/chart/theme.hpp"

#include <QString>

namespace egpu::ui {
namespace {

const Theme kDark = {
    ThemeName::dark,  QColor(0x15181d), QColor(0x1b1f26), QColor(0x262b34), QColor(0xe6e9ee), QColor(0x9aa4b2),
    QColor(0x2b313b), QColor(0x4a5362), QColor(0x4ea8e6), QColor(0x2fd0a0), QColor(0xf2c14b), QColor(0xff7b72),
};
const Theme kLight = {
    ThemeName::light, QColor(0xf3f4f6), QColor(0xffffff), QColor(0xe7eaee), QColor(0x1b1f24), QColor(0x5a6472),
    QColor(0xe6e8ec), QColor(0xa9b1bc), QColor(0x0067b8), QColor(0x007a5a), QColor(0x8a5a00), QColor(0xc02a20),
};

}  // namespace

const Theme& theme(ThemeName name) {
    return name == ThemeName::dark ? kDark : kLight;
}

QColor Theme::line(const LineStyle& style) const {
    const auto& colours = name == ThemeName::dark ? kDarkColours : kLightColours;
    return QColor::fromRgb(colours[style.colour % kColours]);
}

QPen Theme::pen(const LineStyle& style, double width) const {
    QPen pen(line(style), width);
    pen.setStyle(style.stroke == Stroke::solid    ? Qt::SolidLine
                 : style.stroke == Stroke::dashed ? Qt::DashLine
                                                  : Qt::DotLine);
    pen.setJoinStyle(Qt::BevelJoin);
    pen.setCapStyle(Qt::FlatCap);
    return pen;
}

QPalette Theme::palette() const {
    QPalette palette;
    const auto all = [&](QPalette::ColorRole role, const QColor& colour) { palette.setColor(role, colour); };
    all(QPalette::Window, ground);
    all(QPalette::WindowText, text);
    all(QPalette::Base, surface);
    all(QPalette::AlternateBase, ground);
    all(QPalette::Text, text);
    all(QPalette::Button, raised);
    all(QPalette::ButtonText, text);
    all(QPalette::BrightText, bad);
    all(QPalette::ToolTipBase, raised);
    all(QPalette::ToolTipText, text);
    all(QPalette::PlaceholderText, quiet_text);
    all(QPalette::Highlight, accent);
    all(QPalette::HighlightedText, name == ThemeName::dark ? QColor(0x0b0d10) : QColor(0xffffff));
    all(QPalette::Link, accent);
    all(QPalette::Light, raised.lighter(115));
    all(QPalette::Midlight, raised);
    all(QPalette::Mid, axis);
    all(QPalette::Dark, grid);
    all(QPalette::Shadow, name == ThemeName::dark ? QColor::fromRgb(0x000000) : QColor(0x8a93a0));
    for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
        palette.setColor(QPalette::Disabled, role, quiet_text);
    return palette;
}

QString Theme::style_sheet() const {
    return QStringLiteral(
               "QToolTip { color: %1; background: %2; border: 1px solid %3; padding: 3px; }"
               "QTableView, QTreeView, QListView, QPlainTextEdit { border: 1px solid %4; background: %5; }"
               "QHeaderView::section { background: %2; color: %1; border: none; border-right: 1px solid %4;"
               "  padding: 4px 8px; }"
               "QHeaderView::down-arrow, QHeaderView::up-arrow { subcontrol-position: center left; width: 9px; height: "
               "9px; }"
               "QTabBar::tab { padding: 5px 14px; background: transparent; color: %6; border-bottom: 2px solid "
               "transparent; }"
               "QTabBar::tab:selected { color: %1; border-bottom: 2px solid %7; }"
               "QTabWidget::pane { border: none; }"
               "QSplitter::handle { background: %4; }"
               "QStatusBar { color: %6; } QStatusBar::item { border: none; }"
               "QPushButton:disabled, QToolButton:disabled { color: %6; }"
               "QScrollBar { background: %5; border: none; }"
               "QScrollBar:horizontal { height: 12px; } QScrollBar:vertical { width: 12px; }"
               "QScrollBar::handle { background: %3; border-radius: 4px; margin: 2px; min-width: 28px; min-height: "
               "28px; }"
               "QScrollBar::handle:hover { background: %6; }"
               "QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }"
               "QScrollBar::add-page, QScrollBar::sub-page { background: %5; }"
               "QLabel[quiet=\"true\"] { color: %6; }")
        .arg(text.name(), raised.name(), axis.name(), grid.name(), surface.name(), quiet_text.name(), accent.name());
}

}  // namespace egpu::ui
