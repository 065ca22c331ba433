// SPDX-License-Identifier: Apache-2.0
#include "ui/panes/start_page.hpp"

#include <QDateTime>
#include <QHBoxLayout>
#include <QLabel>
#include <QListWidget>
#include <QPushButton>
#include <QTimer>
#include <QVBoxLayout>

#include "host/sessions/running.hpp"

namespace egpu::ui {
namespace {

constexpr int kRefreshMs = 1000;
constexpr int kListHeight = 120;

QLabel* heading(const QString& text) {
    auto* label = new QLabel(text);
    QFont font = label->font();
    font.setPointSizeF(font.pointSizeF() * 1.25);
    font.setBold(true);
    label->setFont(font);
    label->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
    return label;
}

QLabel* quiet(const QString& text) {
    auto* label = new QLabel(text);
    label->setProperty("quiet", true);
    label->setWordWrap(true);
    label->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Maximum);
    return label;
}

QString session_text(const host::RunningSession& session) {
    const QString program =
        session.program.empty() ? StartPage::tr("(no CUDA used so far)") : QString::fromStdString(session.program);
    const QString when = QDateTime::fromMSecsSinceEpoch(session.started_unix_ms).toString(QStringLiteral("HH:mm:ss"));
    if (!session.unreadable.empty())
        return StartPage::tr("%1  %2").arg(session.number).arg(QString::fromStdString(session.unreadable));
    return StartPage::tr("%1  %2  %3, since %4")
        .arg(session.number)
        .arg(program, QString::fromUtf8(host::to_words(session.life)), when);
}

}  // namespace

StartPage::StartPage(QWidget* parent)
    : QWidget(parent),
      form_(new RunForm),
      sessions_(new QListWidget),
      none_(quiet(tr("None runs. In a terminal: egpu demo --loop"))),
      open_(new QPushButton(tr("Open session"))),
      timer_(new QTimer(this)) {
    auto* left_side = new QWidget;
    auto* left = new QVBoxLayout(left_side);
    left->setContentsMargins(0, 0, 0, 0);
    form_->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Maximum);
    left->addWidget(heading(tr("Start a program")));
    left->addWidget(quiet(tr("egpu runs it with eBPF programs in its GPU kernels. The program stays as it is.")));
    left->addSpacing(12);
    left->addWidget(form_);
    auto* columns = new QHBoxLayout;
    columns->setSpacing(48);
    columns->addWidget(left_side, 3, Qt::AlignTop);
    columns->addWidget(make_sessions_side(), 2, Qt::AlignTop);
    auto* outer = new QVBoxLayout(this);
    outer->setContentsMargins(48, 36, 48, 36);
    outer->addLayout(columns);
    outer->addStretch(1);
    timer_->setInterval(kRefreshMs);
    connect(timer_, &QTimer::timeout, this, &StartPage::refresh_sessions);
    connect(form_, &RunForm::run_asked, this, &StartPage::run_asked);
}

QWidget* StartPage::make_sessions_side() {
    auto* side = new QWidget;
    auto* layout = new QVBoxLayout(side);
    layout->setContentsMargins(0, 0, 0, 0);
    auto* open_file = new QPushButton(tr("Open a recording…"));
    auto* demo = new QPushButton(tr("Demo data"));
    layout->addWidget(heading(tr("Running sessions")));
    layout->addWidget(none_);
    layout->addWidget(sessions_);
    sessions_->setFixedHeight(kListHeight);
    layout->addWidget(open_);
    layout->addSpacing(24);
    layout->addWidget(heading(tr("Without a session")));
    layout->addWidget(quiet(tr("A recording is made by egpu run --record FILE. Demo data is one, and needs no GPU.")));
    layout->addWidget(open_file);
    layout->addWidget(demo);
    sessions_->setAccessibleName(tr("Running sessions"));
    connect(sessions_, &QListWidget::itemActivated, this, &StartPage::open_current);
    connect(sessions_, &QListWidget::currentRowChanged, this, [this](int row) { open_->setEnabled(row >= 0); });
    connect(open_, &QPushButton::clicked, this, &StartPage::open_current);
    connect(open_file, &QPushButton::clicked, this, &StartPage::file_asked);
    connect(demo, &QPushButton::clicked, this, &StartPage::demo_asked);
    open_->setEnabled(false);
    return side;
}

void StartPage::open_current() {
    const auto* item = sessions_->currentItem();
    if (item != nullptr && item->flags().testFlag(Qt::ItemIsEnabled))
        Q_EMIT session_asked(item->data(Qt::UserRole).toString());
}

void StartPage::refresh_sessions() {
    const QString chosen =
        sessions_->currentItem() == nullptr ? QString() : sessions_->currentItem()->data(Qt::UserRole).toString();
    const auto running = host::running_sessions();
    sessions_->clear();
    for (const auto& session : running) {
        auto* item = new QListWidgetItem(session_text(session), sessions_);
        item->setData(Qt::UserRole, QString::number(session.number));
        if (!session.unreadable.empty())
            item->setFlags(item->flags() & ~Qt::ItemIsEnabled);
        if (item->data(Qt::UserRole).toString() == chosen || (chosen.isEmpty() && running.size() == 1))
            sessions_->setCurrentItem(item);
    }
    sessions_->setVisible(!running.empty());
    none_->setVisible(running.empty());
    open_->setVisible(!running.empty());
}

void StartPage::showEvent(QShowEvent* event) {
    refresh_sessions();
    timer_->start();
    QWidget::showEvent(event);
}

void StartPage::hideEvent(QHideEvent* event) {
    timer_->stop();
    QWidget::hideEvent(event);
}

}  // namespace egpu::ui
