// SPDX-License-Identifier: Apache-2.0
// RunForm: a program to start, and the command line that does it, to be read and copied.
#pragma once

#include <QStringList>
#include <QWidget>

class QCheckBox;
class QLabel;
class QLineEdit;
class QPushButton;

namespace egpu::ui {

/// What a form says.
struct RunRequest {
    QString program, arguments, folder, probes;
    bool simulated = false;

    /// Behind "egpu": {"run", "-p", "bandwidth", "--", "./a.out", "-n", "3"}. Arguments and probes are split as a shell
    /// splits words; a folder is the working folder and no argument.
    QStringList command() const;
    /// The whole line, quoted for a shell: "cd /data && egpu run -p bandwidth -- ./a.out".
    QString command_line() const;
    /// Why it can't be started; "" where it can.
    QString problem() const;
};

class RunForm : public QWidget {
    Q_OBJECT
public:
    explicit RunForm(QWidget* parent = nullptr);

    RunRequest request() const;
    void set_request(const RunRequest& request);
    /// Shown under the form until something changes: why the last start failed.
    void show_problem(const QString& text);

Q_SIGNALS:
    void run_asked(const egpu::ui::RunRequest& request);

private:
    void refresh();
    void choose_program();
    void choose_folder();

    QLineEdit *program_, *arguments_, *folder_, *probes_;
    QCheckBox* simulated_;
    QLabel *line_, *problem_;
    QPushButton* start_;
};

}  // namespace egpu::ui
