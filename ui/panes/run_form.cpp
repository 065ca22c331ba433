// SPDX-License-Identifier: Apache-2.0
#include "ui/panes/run_form.hpp"

#include <QCheckBox>
#include <QFileDialog>
#include <QFileInfo>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QProcess>
#include <QPushButton>
#include <QRegularExpression>
#include <QStandardPaths>

namespace egpu::ui {
namespace {

QString shell_word(const QString& word) {
    static const QRegularExpression kPlain(QStringLiteral("^[A-Za-z0-9_@%+=:,./-]+$"));
    if (kPlain.match(word).hasMatch())
        return word;
    QString quoted = word;
    quoted.replace(QLatin1Char('\''), QStringLiteral("'\\''"));
    return QLatin1Char('\'') + quoted + QLatin1Char('\'');
}

QWidget* with_button(QLineEdit* field, QPushButton* button) {
    auto* both = new QWidget;
    auto* layout = new QHBoxLayout(both);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(field, 1);
    layout->addWidget(button);
    return both;
}

}  // namespace

QStringList RunRequest::command() const {
    QStringList words = {QStringLiteral("run")};
    if (simulated)
        words << QStringLiteral("--simulated");
    for (const auto& probe : QProcess::splitCommand(probes))
        words << QStringLiteral("-p") << probe;
    return words << QStringLiteral("--") << program << QProcess::splitCommand(arguments);
}

QString RunRequest::command_line() const {
    QStringList words = {QStringLiteral("egpu")};
    for (const auto& word : command())
        words << shell_word(word);
    const QString line = words.join(QLatin1Char(' '));
    return folder.isEmpty() ? line : QStringLiteral("cd %1 && %2").arg(shell_word(folder), line);
}

QString RunRequest::problem() const {
    if (program.isEmpty())
        return RunForm::tr("Name a program");
    if (!folder.isEmpty() && !QFileInfo(folder).isDir())
        return RunForm::tr("There is no folder %1").arg(folder);
    const QFileInfo file(QFileInfo(program).isAbsolute() || folder.isEmpty() ? program
                                                                             : folder + QLatin1Char('/') + program);
    const bool is_path = program.contains(QLatin1Char('/'));
    if (is_path ? !file.isExecutable() || file.isDir() : QStandardPaths::findExecutable(program).isEmpty())
        return RunForm::tr("%1 is no program that can be run").arg(program);
    return {};
}

RunForm::RunForm(QWidget* parent)
    : QWidget(parent),
      program_(new QLineEdit),
      arguments_(new QLineEdit),
      folder_(new QLineEdit),
      probes_(new QLineEdit(QStringLiteral("bandwidth coalescing"))),
      simulated_(new QCheckBox(tr("On the simulated GPU"))),
      line_(new QLabel),
      problem_(new QLabel),
      start_(new QPushButton(tr("Start"))) {
    program_->setPlaceholderText(tr("a CUDA program, as it is: ./train"));
    folder_->setPlaceholderText(tr("this one"));
    probes_->setToolTip(tr("Installed programs by name, .bpf.c or .bpf.o files; several with blanks between them"));
    simulated_->setToolTip(
        tr("Needs no NVIDIA hardware or software; where a driver is present it is used unless this is ticked"));
    line_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    line_->setWordWrap(true);
    line_->setProperty("quiet", true);
    line_->setTextFormat(Qt::PlainText);
    problem_->setWordWrap(true);
    problem_->setTextFormat(Qt::PlainText);
    start_->setDefault(true);
    start_->setObjectName(QStringLiteral("start"));
    auto* find_program = new QPushButton(tr("Choose…"));
    auto* find_folder = new QPushButton(tr("Choose…"));
    auto* form = new QFormLayout(this);
    form->setContentsMargins(0, 0, 0, 0);
    form->setVerticalSpacing(10);
    // Rows with and without a button are of one height.
    for (QWidget* field : std::initializer_list<QWidget*>{program_, arguments_, folder_, probes_, simulated_})
        field->setFixedHeight(find_program->sizeHint().height());
    form->addRow(tr("&Program"), with_button(program_, find_program));
    form->addRow(tr("&Arguments"), arguments_);
    form->addRow(tr("F&older"), with_button(folder_, find_folder));
    form->addRow(tr("Pro&bes"), probes_);
    form->addRow(QString(), simulated_);
    form->addRow(tr("Runs"), line_);
    form->addRow(QString(), problem_);
    form->addRow(QString(), start_);
    for (auto* field : {program_, arguments_, folder_, probes_})
        connect(field, &QLineEdit::textChanged, this, &RunForm::refresh);
    connect(simulated_, &QCheckBox::toggled, this, &RunForm::refresh);
    connect(find_program, &QPushButton::clicked, this, &RunForm::choose_program);
    connect(find_folder, &QPushButton::clicked, this, &RunForm::choose_folder);
    connect(program_, &QLineEdit::returnPressed, start_, &QPushButton::click);
    connect(start_, &QPushButton::clicked, this, [this] { Q_EMIT run_asked(request()); });
    refresh();
}

RunRequest RunForm::request() const {
    return {program_->text().trimmed(), arguments_->text(), folder_->text().trimmed(), probes_->text(),
            simulated_->isChecked()};
}

void RunForm::set_request(const RunRequest& request) {
    program_->setText(request.program);
    arguments_->setText(request.arguments);
    folder_->setText(request.folder);
    probes_->setText(request.probes);
    simulated_->setChecked(request.simulated);
}

void RunForm::show_problem(const QString& text) {
    problem_->setText(text);
    problem_->setVisible(!text.isEmpty());
}

void RunForm::refresh() {
    const RunRequest now = request();
    const QString problem = now.problem();
    line_->setText(now.program.isEmpty() ? tr("egpu run -p … -- PROGRAM") : now.command_line());
    show_problem(now.program.isEmpty() ? QString() : problem);
    start_->setEnabled(problem.isEmpty());
}

void RunForm::choose_program() {
    const QString file = QFileDialog::getOpenFileName(this, tr("Program to observe"), folder_->text());
    if (!file.isEmpty())
        program_->setText(file);
}

void RunForm::choose_folder() {
    const QString folder = QFileDialog::getExistingDirectory(this, tr("Folder to run it in"), folder_->text());
    if (!folder.isEmpty())
        folder_->setText(folder);
}

}  // namespace egpu::ui
