// SPDX-License-Identifier: Apache-2.0
// MapPane: the rows of one map of a session, as `egpu map dump` prints them; which map is chosen above.
#pragma once

#include <QWidget>

#include "ui/model/facts.hpp"
#include "ui/model/grid_table.hpp"

class QComboBox;
class QLabel;
class QTableView;

namespace egpu::ui {

class MapPane : public QWidget {
    Q_OBJECT
public:
    explicit MapPane(QWidget* parent = nullptr);

    /// nullptr: no session. The map that is chosen stays chosen.
    void set_facts(FactsPointer facts);
    GridTable& table() { return table_; }
    QComboBox& choice() { return *choice_; }
    QString note() const;

private:
    void show_chosen();

    FactsPointer facts_;
    GridTable table_{QStringList()};
    QComboBox* choice_;
    QLabel* note_;
    QTableView* view_;
};

}  // namespace egpu::ui
