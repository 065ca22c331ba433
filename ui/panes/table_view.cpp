// SPDX-License-Identifier: Apache-2.0
#include "ui/panes/table_view.hpp"

#include <QApplication>
#include <QClipboard>
#include <QHeaderView>
#include <QShortcut>
#include <QTableView>
#include <algorithm>

namespace egpu::ui {
namespace {

/// The selected rows, cells parted by tabs: what a spreadsheet takes.
void copy_rows(const QTableView& view) {
    QStringList lines;
    auto rows = view.selectionModel()->selectedRows();
    std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.row() < b.row(); });
    for (const auto& row : rows) {
        QStringList cells;
        for (int column = 0; column < view.model()->columnCount(); ++column)
            cells << row.siblingAtColumn(column).data().toString();
        lines << cells.join(QLatin1Char('\t'));
    }
    if (!lines.isEmpty())
        QApplication::clipboard()->setText(lines.join(QLatin1Char('\n')));
}

}  // namespace

QTableView* make_table(QAbstractItemModel& model, QWidget* parent) {
    auto* view = new QTableView(parent);
    view->setModel(&model);
    view->setShowGrid(false);
    view->setAlternatingRowColors(true);
    view->setSelectionBehavior(QAbstractItemView::SelectRows);
    view->setEditTriggers(QAbstractItemView::NoEditTriggers);
    view->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
    view->setWordWrap(false);
    view->setTabKeyNavigation(false);
    view->verticalHeader()->hide();
    view->verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
    view->verticalHeader()->setDefaultSectionSize(view->fontMetrics().height() + 8);
    view->horizontalHeader()->setHighlightSections(false);
    view->horizontalHeader()->setStretchLastSection(true);
    auto* copy = new QShortcut(QKeySequence::Copy, view);
    copy->setContext(Qt::WidgetShortcut);
    QObject::connect(copy, &QShortcut::activated, view, [view] { copy_rows(*view); });
    return view;
}

}  // namespace egpu::ui
