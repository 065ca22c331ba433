// SPDX-License-Identifier: Apache-2.0
// StartPage: what the window shows without a session: start a program, open a session or a file, demo data.
#pragma once

#include <QWidget>

#include "ui/panes/run_form.hpp"

class QLabel;
class QListWidget;
class QPushButton;
class QTimer;

namespace egpu::ui {

class StartPage : public QWidget {
    Q_OBJECT
public:
    explicit StartPage(QWidget* parent = nullptr);

    RunForm& form() { return *form_; }
    /// Looks for sessions again; by itself it does so each second while it is seen.
    void refresh_sessions();
    QListWidget& sessions() { return *sessions_; }

Q_SIGNALS:
    void run_asked(const egpu::ui::RunRequest& request);
    void session_asked(const QString& number);
    void file_asked();
    void demo_asked();

protected:
    void showEvent(QShowEvent*) override;
    void hideEvent(QHideEvent*) override;

private:
    QWidget* make_sessions_side();
    void open_current();

    RunForm* form_;
    QListWidget* sessions_;
    QLabel* none_;
    QPushButton* open_;
    QTimer* timer_;
};

}  // namespace egpu::ui
