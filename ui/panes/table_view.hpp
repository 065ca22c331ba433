// SPDX-License-Identifier: Apache-2.0
// How every table of the window looks: rows of one height, no grid, whole rows selected, Ctrl+C copies them.
#pragma once

class QTableView;
class QWidget;
class QAbstractItemModel;

namespace egpu::ui {

QTableView* make_table(QAbstractItemModel& model, QWidget* parent);

}  // namespace egpu::ui
