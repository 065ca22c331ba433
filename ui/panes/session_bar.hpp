// SPDX-License-Identifier: Apache-2.0
// SessionBar: what is shown, whether it is live, and what can be done with the view.
#pragma once

#include <QWidget>

#include "ui/chart/chart_link.hpp"
#include "ui/chart/theme.hpp"
#include "ui/model/session_model.hpp"

class QComboBox;
class QLabel;
class QToolButton;

namespace egpu::ui {

class SessionBar : public QWidget {
    Q_OBJECT
public:
    SessionBar(SessionModel& model, ChartLink& link, QWidget* parent = nullptr);

    void set_theme(const Theme& theme);
    /// After new facts, another state, or another view.
    void refresh();
    QString state_text() const;

Q_SIGNALS:
    void pause_toggled();
    void now_asked();
    void fit_asked();

private:
    QString session_text() const;
    QColor state_colour() const;

    SessionModel& model_;
    ChartLink& link_;
    const Theme* theme_ = &theme(ThemeName::dark);
    QLabel *state_, *session_, *device_;
    QComboBox* span_;
    QToolButton *pause_, *now_, *fit_;
};

}  // namespace egpu::ui
