// SPDX-License-Identifier: Apache-2.0
// GridTable: a small table of texts, such as the probes of a session or its findings.
#pragma once

#include <QAbstractTableModel>
#include <QStringList>
#include <vector>

#include "ui/model/facts.hpp"

namespace egpu::ui {

class GridTable : public QAbstractTableModel {
    Q_OBJECT
public:
    struct Row {
        QStringList cells;
        QString tip;
        bool operator==(const Row&) const = default;
    };

    explicit GridTable(QStringList heads, QObject* parent = nullptr)
        : QAbstractTableModel(parent), heads_(std::move(heads)) {}

    /// Rows in the order given; nothing happens where they are the same.
    void set_rows(std::vector<Row> rows);
    /// Another table: its columns, those from `first_number` on at the right. Nothing happens where it is the same.
    void set_table(const QStringList& heads, int first_number, std::vector<Row> rows);
    const std::vector<Row>& rows() const { return rows_; }

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    QVariant alignment(int column) const;

    QStringList heads_;
    int first_number_ = 1 << 20;  ///< none
    std::vector<Row> rows_;
};

/// Column 0 is the probe's name with its program ("bandwidth/count_traffic").
QStringList probe_heads();
std::vector<GridTable::Row> probe_rows(const Facts& facts);
QStringList finding_heads();
std::vector<GridTable::Row> finding_rows(const Facts& facts);

}  // namespace egpu::ui
