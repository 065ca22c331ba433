// SPDX-License-Identifier: Apache-2.0
#include "ui/panes/session_bar.hpp"

#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QToolButton>
#include <array>

#include "base/units.hpp"
#include "ui/model/unit.hpp"

namespace egpu::ui {
namespace {

constexpr Time kSecond = 1'000'000'000;
constexpr std::array<std::pair<const char*, int>, 8> kSpans = {{{"5 s", 5},
                                                                {"10 s", 10},
                                                                {"30 s", 30},
                                                                {"1 min", 60},
                                                                {"5 min", 300},
                                                                {"15 min", 900},
                                                                {"1 h", 3600},
                                                                {"4 h", 14400}}};

QToolButton* make_button(const QString& text, const QString& tip) {
    auto* button = new QToolButton;
    button->setText(text);
    button->setToolTip(tip);
    button->setAutoRaise(false);
    button->setFocusPolicy(Qt::TabFocus);
    return button;
}

QString text(const std::string& value) {
    return QString::fromStdString(value);
}

}  // namespace

SessionBar::SessionBar(SessionModel& model, ChartLink& link, QWidget* parent)
    : QWidget(parent),
      model_(model),
      link_(link),
      state_(new QLabel),
      session_(new QLabel),
      device_(new QLabel),
      span_(new QComboBox),
      pause_(make_button(tr("Pause"), tr("Hold the view; data goes on arriving (Space)"))),
      now_(make_button(tr("Now"), tr("Follow the newest data (End)"))),
      fit_(make_button(tr("Fit"), tr("Show all data (F, or a double click)"))) {
    session_->setTextFormat(Qt::PlainText);
    device_->setTextFormat(Qt::PlainText);
    device_->setProperty("quiet", true);
    for (const auto& [name, seconds] : kSpans)
        span_->addItem(QString::fromLatin1(name), seconds);
    span_->setCurrentIndex(2);
    span_->setToolTip(tr("How much time the charts show"));
    span_->setAccessibleName(tr("Shown time"));
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(10, 6, 8, 6);
    layout->setSpacing(8);
    layout->addWidget(state_);
    layout->addSpacing(6);
    layout->addWidget(session_);
    layout->addWidget(device_, 1);
    layout->addWidget(pause_);
    layout->addWidget(now_);
    layout->addWidget(fit_);
    layout->addWidget(span_);
    connect(pause_, &QToolButton::clicked, this, &SessionBar::pause_toggled);
    connect(now_, &QToolButton::clicked, this, &SessionBar::now_asked);
    connect(fit_, &QToolButton::clicked, this, &SessionBar::fit_asked);
    connect(span_, &QComboBox::activated, this, [this] {
        link_.viewport().set_span(Time{span_->currentData().toInt()} * kSecond);
        link_.view_moved();
    });
    connect(&link_, &ChartLink::view_changed, this, &SessionBar::refresh);
    refresh();
}

void SessionBar::set_theme(const Theme& theme) {
    theme_ = &theme;
    refresh();
}

QString SessionBar::state_text() const {
    const bool following = link_.viewport().following();
    switch (model_.life()) {
        case Life::starting:
            return model_.life_text().empty() ? tr("○ waiting for data")
                                              : QStringLiteral("○ ") + text(model_.life_text());
        case Life::live:
            if (!model_.life_text().empty())
                return tr("‖ suspended");
            return following
                       ? tr("● live")
                       : tr("‖ paused, %1 behind").arg(text(span_text(static_cast<double>(link_.viewport().behind()))));
        case Life::replaying:
            return following ? tr("● demo data") : tr("‖ paused, demo data");
        case Life::ended:
            return QStringLiteral("■ ") + (model_.life_text().empty() ? tr("ended") : text(model_.life_text()));
        case Life::damaged:
            return QStringLiteral("▲ ") + text(model_.life_text());
        case Life::recorded:
            return QStringLiteral("■ ") +
                   (model_.life_text().empty() ? tr("recording") : tr("recording: ") + text(model_.life_text()));
    }
    return {};
}

QColor SessionBar::state_colour() const {
    switch (model_.life()) {
        case Life::live:
        case Life::replaying:
            return link_.viewport().following() ? theme_->good : theme_->warning;
        case Life::damaged:
            return theme_->bad;
        default:
            return theme_->quiet_text;
    }
}

QString SessionBar::session_text() const {
    const auto& facts = model_.facts();
    if (!facts)
        return text(model_.name());
    QString program = text(facts->program);
    if (program.isEmpty())
        program = text(facts->command).section(QLatin1Char(' '), 0, 0).section(QLatin1Char('/'), -1);
    QStringList parts = {program};
    if (facts->pid != 0)
        parts << tr("pid %1").arg(facts->pid);
    if (const auto extent = model_.charts().extent())
        parts << text(clock_text(extent->end));
    return parts.join(QStringLiteral("  "));
}

void SessionBar::refresh() {
    state_->setText(state_text());
    state_->setToolTip(model_.life() == Life::live ? text(model_.life_text()) : QString());
    const QString style = QStringLiteral("font-weight: bold; color: %1").arg(state_colour().name());
    if (state_->styleSheet() != style)  // a style is laid out anew even where it is the same
        state_->setStyleSheet(style);
    session_->setText(session_text());
    const auto& facts = model_.facts();
    QStringList device;
    if (facts) {
        device << (facts->device.empty() ? tr("no GPU used so far") : text(facts->device));
        if (facts->simulated)
            device << tr("counts are exact, there is no time");
        if (facts->gpu_memory_bytes != 0)
            device << tr("egpu holds %1 of GPU memory").arg(text(format_memory(facts->gpu_memory_bytes)));
        session_->setToolTip(text(facts->command));
    }
    device_->setText(device.join(QStringLiteral(" · ")));
    const bool following = link_.viewport().following();
    pause_->setText(following ? tr("Pause") : tr("Resume"));
    pause_->setEnabled(model_.life() == Life::live || model_.life() == Life::replaying);
    now_->setEnabled(!following);
}

}  // namespace egpu::ui
