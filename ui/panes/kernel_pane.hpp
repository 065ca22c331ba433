// SPDX-License-Identifier: Apache-2.0
// KernelPane: the kernels of a session with a filter above.
#pragma once

#include <QWidget>

#include "ui/model/kernel_table.hpp"

class QLabel;
class QLineEdit;
class QTableView;

namespace egpu::ui {

class KernelPane : public QWidget {
    Q_OBJECT
public:
    explicit KernelPane(KernelTable& table, QWidget* parent = nullptr);

    QLineEdit& filter() { return *filter_; }
    QTableView& view() { return *view_; }
    /// After new facts.
    void refresh();

private:
    KernelTable& table_;
    QLineEdit* filter_;
    QLabel* count_;
    QTableView* view_;
};

}  // namespace egpu::ui
