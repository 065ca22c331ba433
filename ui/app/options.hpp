// SPDX-License-Identifier: Apache-2.0
// The window's command line.
#pragma once

#include <QSize>
#include <QString>
#include <optional>

#include "base/result.hpp"
#include "ui/chart/theme.hpp"

namespace egpu::ui {

struct Options {
    QString what;  ///< a session's number or a recording; "": the start page
    bool demo = false;
    ThemeName theme = ThemeName::dark;
    QString screenshot;  ///< file to write instead of showing a window
    QSize size{1440, 900};
    double after_s = 3;    ///< from the window's start to the picture
    bool verbose = false;  ///< what frames take stands in the status bar
    bool help = false, version = false;
};

/// EGPU-X080 for what the command line does not know or means nothing together.
Result<Options> parse_options(const QStringList& arguments);
QString help_text();

}  // namespace egpu::ui
