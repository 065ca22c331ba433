// SPDX-License-Identifier: Apache-2.0
#include "ui/panes/probe_pane.hpp"

#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QTableView>
#include <QVBoxLayout>

#include "ui/panes/table_view.hpp"

namespace egpu::ui {
namespace {

constexpr int kNameColumn = 0, kStateColumn = 2;
constexpr int kWidths[] = {34, 30, 18, 9, 9, 40};  // characters

}  // namespace

ProbePane::ProbePane(GridTable& table, QWidget* parent)
    : QWidget(parent),
      table_(table),
      what_(new QLineEdit),
      add_(new QPushButton(tr("Add"))),
      remove_(new QPushButton(tr("Remove"))),
      note_(new QLabel),
      view_(make_table(table, this)) {
    what_->setPlaceholderText(tr("Add: latency, or a .bpf.c file"));
    what_->setToolTip(tr("An installed program's name, a .bpf.c or a .bpf.o file"));
    what_->setFixedWidth(280);
    remove_->setToolTip(tr("Detach the chosen probe: what it counted stays"));
    note_->setProperty("quiet", true);
    auto* top = new QHBoxLayout;
    top->addWidget(what_);
    top->addWidget(add_);
    top->addWidget(remove_);
    top->addWidget(note_);
    top->addStretch(1);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(6, 6, 6, 0);
    layout->addLayout(top);
    layout->addWidget(view_, 1);
    int column = 0;
    for (const int width : kWidths)
        view_->setColumnWidth(column++, width * view_->fontMetrics().averageCharWidth());
    connect(what_, &QLineEdit::textChanged, this, &ProbePane::refresh);
    connect(what_, &QLineEdit::returnPressed, add_, &QPushButton::click);
    connect(view_->selectionModel(), &QItemSelectionModel::selectionChanged, this, &ProbePane::refresh);
    connect(&table_, &QAbstractItemModel::dataChanged, this, &ProbePane::refresh);
    connect(&table_, &QAbstractItemModel::modelReset, this, &ProbePane::refresh);
    connect(add_, &QPushButton::clicked, this, [this] {
        Q_EMIT change_asked({QStringLiteral("add"), what_->text().trimmed()});
        what_->clear();
    });
    connect(remove_, &QPushButton::clicked, this, [this] {
        Q_EMIT change_asked({QStringLiteral("remove"), chosen()});
    });
    refresh();
}

QString ProbePane::chosen() const {
    const auto rows = view_->selectionModel()->selectedRows();
    if (rows.size() != 1 || rows.front().row() >= table_.rowCount())
        return {};
    const auto cell = [&](int column) { return rows.front().siblingAtColumn(column).data().toString(); };
    const bool gone = cell(kStateColumn) == QString::fromUtf8(host::to_words(host::ProbeState::detached));
    return gone ? QString() : cell(kNameColumn).section(QLatin1Char('/'), 0, 0);
}

void ProbePane::set_live(bool live) {
    live_ = live;
    refresh();
}

void ProbePane::refresh() {
    what_->setEnabled(live_);
    add_->setEnabled(live_ && !what_->text().trimmed().isEmpty());
    remove_->setEnabled(live_ && !chosen().isEmpty());
    note_->setText(live_ ? QString() : tr("probes of a session that runs can be added and removed"));
}

}  // namespace egpu::ui
