// SPDX-License-Identifier: Apache-2.0
// RunProcess: `egpu run` as a child of the window, its output as messages, its session as soon as there is one.
#pragma once

#include <QProcess>
#include <QTimer>

#include "ui/panes/run_form.hpp"

namespace egpu::ui {

/// The egpu command beside this program, else the one in PATH; "" where there is none.
QString find_egpu();

class RunProcess : public QObject {
    Q_OBJECT
public:
    explicit RunProcess(QObject* parent = nullptr);
    /// Asks a run that goes on to end, and waits a moment for it.
    ~RunProcess() override;

    void start(const RunRequest& request);
    bool running() const { return process_.state() != QProcess::NotRunning; }
    void stop();

Q_SIGNALS:
    /// A line of the program's or of egpu's.
    void said(const QString& line, bool by_egpu);
    /// Its session can be opened.
    void session_ready(const QString& number);
    /// It ended, or could not be started: `text` says how.
    void ended(const QString& text, bool failed);

private:
    void read_lines();
    void take_lines(QByteArray& rest, bool flush);
    void look_for_session();

    QProcess process_;
    QTimer look_;
    QByteArray output_, errors_;
};

}  // namespace egpu::ui
