// SPDX-License-Identifier: Apache-2.0
#include "ui/panes/kernel_pane.hpp"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QTableView>
#include <QVBoxLayout>
#include <algorithm>

#include "ui/panes/table_view.hpp"

namespace egpu::ui {
namespace {

/// In characters of the table's font.
constexpr int kWidths[KernelTable::kColumns] = {24, 17, 12, 12, 12, 11, 13, 11, 11, 13, 11, 12, 18, 10};

}  // namespace

KernelPane::KernelPane(KernelTable& table, QWidget* parent)
    : QWidget(parent), table_(table), filter_(new QLineEdit), count_(new QLabel), view_(make_table(table, this)) {
    filter_->setPlaceholderText(tr("Filter: gemm -refused"));
    filter_->setToolTip(tr("Words that name, module, state or reason must have; -word leaves out"));
    filter_->setClearButtonEnabled(true);
    filter_->setFixedWidth(280);
    count_->setProperty("quiet", true);
    auto* top = new QHBoxLayout;
    top->addWidget(filter_);
    top->addWidget(count_);
    top->addStretch(1);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(6, 6, 6, 0);
    layout->addLayout(top);
    layout->addWidget(view_, 1);
    view_->setSortingEnabled(true);
    view_->sortByColumn(KernelTable::launches, Qt::DescendingOrder);
    for (int column = 0; column < KernelTable::kColumns; ++column)
        view_->setColumnWidth(column, std::max(kWidths[column] * view_->fontMetrics().averageCharWidth(),
                                               view_->horizontalHeader()->sectionSizeHint(column)));
    connect(filter_, &QLineEdit::textChanged, this, [this](const QString& text) {
        table_.set_filter(text);
        refresh();
    });
    refresh();
}

void KernelPane::refresh() {
    count_->setText(table_.count_text());
}

}  // namespace egpu::ui
