// SPDX-License-Identifier: Apache-2.0
#include "ui/panes/message_pane.hpp"

#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QScrollBar>
#include <QTableView>
#include <QVBoxLayout>

#include "ui/panes/table_view.hpp"

namespace egpu::ui {

MessagePane::MessagePane(MessageLog& log, QWidget* parent)
    : QWidget(parent),
      log_(log),
      severity_(new QComboBox),
      filter_(new QLineEdit),
      hidden_(new QLabel),
      view_(make_table(log, this)) {
    severity_->addItem(tr("All"), static_cast<int>(Severity::hint));
    severity_->addItem(tr("Warnings and errors"), static_cast<int>(Severity::warning));
    severity_->addItem(tr("Errors"), static_cast<int>(Severity::error));
    filter_->setPlaceholderText(tr("Filter: kernel -info"));
    filter_->setClearButtonEnabled(true);
    filter_->setFixedWidth(280);
    hidden_->setProperty("quiet", true);
    auto* top = new QHBoxLayout;
    top->addWidget(severity_);
    top->addWidget(filter_);
    top->addWidget(hidden_);
    top->addStretch(1);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(6, 6, 6, 0);
    layout->addLayout(top);
    layout->addWidget(view_, 1);
    view_->setColumnWidth(MessageLog::time, 80);
    view_->setColumnWidth(MessageLog::severity, 80);
    connect(severity_, &QComboBox::currentIndexChanged, this, &MessagePane::apply_filter);
    connect(filter_, &QLineEdit::textChanged, this, &MessagePane::apply_filter);
    connect(&log_, &QAbstractItemModel::rowsAboutToBeInserted, this,
            [this] { at_end_ = view_->verticalScrollBar()->value() == view_->verticalScrollBar()->maximum(); });
    connect(&log_, &QAbstractItemModel::rowsInserted, this, &MessagePane::added);
}

void MessagePane::apply_filter() {
    log_.set_filter(static_cast<Severity>(severity_->currentData().toInt()), filter_->text());
    added();
}

void MessagePane::added() {
    hidden_->setText(log_.hidden() == 0 ? QString() : tr("%1 hidden by the filter").arg(log_.hidden()));
    if (at_end_)
        view_->scrollToBottom();
}

}  // namespace egpu::ui
