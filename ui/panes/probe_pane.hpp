// SPDX-License-Identifier: Apache-2.0
// ProbePane: the probes of a session; those of one that runs can be removed, and others added.
#pragma once

#include <QStringList>
#include <QWidget>

#include "ui/model/grid_table.hpp"

class QLabel;
class QLineEdit;
class QPushButton;
class QTableView;

namespace egpu::ui {

class ProbePane : public QWidget {
    Q_OBJECT
public:
    explicit ProbePane(GridTable& table, QWidget* parent = nullptr);

    /// Whether probes can be changed: the session runs.
    void set_live(bool live);
    QTableView& view() { return *view_; }
    QLineEdit& what() { return *what_; }
    QPushButton& add_button() { return *add_; }
    QPushButton& remove_button() { return *remove_; }

Q_SIGNALS:
    /// Behind "egpu probe": {"remove", "bandwidth"}, {"add", "latency"}.
    void change_asked(const QStringList& words);

private:
    void refresh();
    /// The probe of the chosen row: "bandwidth" of "bandwidth/count_traffic"; "" where none is chosen, or it is gone.
    QString chosen() const;

    GridTable& table_;
    QLineEdit* what_;
    QPushButton *add_, *remove_;
    QLabel* note_;
    QTableView* view_;
    bool live_ = false;
};

}  // namespace egpu::ui
