// SPDX-License-Identifier: Apache-2.0
// KernelTable: the kernels of a session, filtered and sorted here rather than by a proxy: with 100,000 kernels that
// move ten times a second a proxy's maps would cost more than the table.
#pragma once

#include <QAbstractTableModel>
#include <QString>
#include <vector>

#include "ui/model/facts.hpp"

namespace egpu::ui {

class KernelTable : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Column {
        name,
        state,
        launch_rate,
        read_rate,
        written_rate,
        launches,
        instrumented,
        read_bytes,
        written_bytes,
        sectors,
        sector_use,
        registers,
        module,
        reason
    };
    static constexpr int kColumns = reason + 1;

    using QAbstractTableModel::QAbstractTableModel;

    void set_facts(FactsPointer facts);
    /// Words that name, signature, module, state or reason must all contain; one that begins with "-" must not be in.
    void set_filter(const QString& text);
    /// "12 of 100 000", or "12" without filter.
    QString count_text() const;
    /// The kernel of a row.
    const KernelRow& kernel(int row) const { return facts_->kernels[order_[static_cast<std::size_t>(row)]]; }

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : kColumns; }
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
    void sort(int column, Qt::SortOrder order) override;

private:
    void arrange();
    bool matches(const KernelRow& row) const;
    bool before(const KernelRow& left, const KernelRow& right) const;

    FactsPointer facts_;
    std::vector<std::uint32_t> order_;  ///< rows that are shown, as indices in facts_->kernels
    std::vector<std::string> wanted_, unwanted_;
    int column_ = launches;
    Qt::SortOrder direction_ = Qt::DescendingOrder;
};

}  // namespace egpu::ui
