// SPDX-License-Identifier: Apache-2.0
// Theme: every colour of the window, dark and light.
#pragma once

#include <QColor>
#include <QPalette>
#include <QPen>

#include "ui/model/palette.hpp"

namespace egpu::ui {

enum class ThemeName { dark, light };

struct Theme {
    ThemeName name = ThemeName::dark;
    QColor ground;      ///< of the window
    QColor surface;     ///< of charts, tables, lists
    QColor raised;      ///< of buttons, heads, the box of values
    QColor text;        ///< 7:1 or more on ground and surface
    QColor quiet_text;  ///< 4.5:1 or more: units, notes, labels of axes
    QColor grid;
    QColor axis;
    QColor accent;  ///< selection, the live mark
    QColor good, warning, bad;

    QColor line(const LineStyle& style) const;
    QPen pen(const LineStyle& style, double width) const;
    QPalette palette() const;
    /// What a palette can't say: borders, spacing of heads, tool tips.
    QString style_sheet() const;
};

const Theme& theme(ThemeName name);

}  // namespace egpu::ui
