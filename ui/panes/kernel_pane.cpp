// SPDX-License-Identifier: Apache-2.0
#include "ui/panes/kernel_pane.hpp"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QStyle>
#include <QTableView>
#include <QVBoxLayout>
#include <algorithm>

#include "ui/panes/table_view.hpp"

namespace egpu::ui {
namespace {

/// What a column has room for without being drawn wider: figures whole, names as far as most go.
constexpr const char* kWidest[KernelTable::kColumns] = {"a_kernel_of_usual_name",
                                                        "● instrumented",
                                                        "999.9 k/s",
                                                        "999.9 MB/s",
                                                        "999.9 MB/s",
                                                        "999 999 999",
                                                        "999 999 999",
                                                        "≥ 999.9 GB",
                                                        "≥ 999.9 GB",
                                                        "32.0",
                                                        "100.0 %",
                                                        "255 → 255",
                                                        "libusual_name.so",
                                                        "refused: why"};

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
    // As the view's own hint for a cell: its text, and a margin at both sides.
    const int margin = 2 * (view_->style()->pixelMetric(QStyle::PM_FocusFrameHMargin, nullptr, view_) + 1) + 2;
    for (int column = 0; column < KernelTable::kColumns; ++column)
        view_->setColumnWidth(
            column, std::max(view_->fontMetrics().horizontalAdvance(QString::fromUtf8(kWidest[column])) + margin,
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
