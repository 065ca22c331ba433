// SPDX-License-Identifier: Apache-2.0
#include "ui/model/grid_table.hpp"

#include <QCoreApplication>

namespace egpu::ui {
namespace {

QString text(const std::string& value) {
    return QString::fromStdString(value);
}

QString severity_text(Severity severity) {
    switch (severity) {
        case Severity::hint:
            return QCoreApplication::translate("findings", "hint");
        case Severity::warning:
            return QCoreApplication::translate("findings", "warning");
        case Severity::error:
            return QCoreApplication::translate("findings", "error");
    }
    return {};
}

}  // namespace

void GridTable::set_rows(std::vector<Row> rows) {
    if (rows == rows_)
        return;
    if (rows.size() != rows_.size()) {
        beginResetModel();
        rows_ = std::move(rows);
        endResetModel();
        return;
    }
    rows_ = std::move(rows);
    Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1));
}

void GridTable::set_table(const QStringList& heads, int first_number, std::vector<Row> rows) {
    if (heads == heads_ && first_number == first_number_)
        return set_rows(std::move(rows));
    beginResetModel();
    heads_ = heads;
    first_number_ = first_number;
    rows_ = std::move(rows);
    endResetModel();
}

int GridTable::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}

int GridTable::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(heads_.size());
}

QVariant GridTable::data(const QModelIndex& index, int role) const {
    if (!index.isValid() || index.row() >= rowCount())
        return {};
    const Row& row = rows_[static_cast<std::size_t>(index.row())];
    if (role == Qt::DisplayRole)
        return row.cells.value(index.column());
    if (role == Qt::ToolTipRole)
        return row.tip.isEmpty() ? row.cells.value(index.column()) : row.tip;
    if (role == Qt::TextAlignmentRole)
        return alignment(index.column());
    return {};
}

QVariant GridTable::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal)
        return {};
    if (role == Qt::DisplayRole)
        return heads_.value(section);
    if (role == Qt::TextAlignmentRole)
        return alignment(section);
    return {};
}

QVariant GridTable::alignment(int column) const {
    return QVariant((column >= first_number_ ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
}

QStringList probe_heads() {
    return {QCoreApplication::translate("probes", "Probe"),   QCoreApplication::translate("probes", "Runs at"),
            QCoreApplication::translate("probes", "State"),   QCoreApplication::translate("probes", "Sites"),
            QCoreApplication::translate("probes", "Kernels"), QCoreApplication::translate("probes", "Remark")};
}

std::vector<GridTable::Row> probe_rows(const Facts& facts) {
    std::vector<GridTable::Row> rows;
    for (const auto& probe : facts.probes)
        rows.push_back({{text(probe.probe + "/" + probe.program), text(probe.section),
                         QString::fromUtf8(host::to_words(probe.state)), QString::number(probe.sites),
                         QString::number(probe.kernels), text(probe.remark)},
                        {}});
    return rows;
}

QStringList finding_heads() {
    return {QCoreApplication::translate("findings", "Severity"), QCoreApplication::translate("findings", "Kernel"),
            QCoreApplication::translate("findings", "Where"), QCoreApplication::translate("findings", "From"),
            QCoreApplication::translate("findings", "Finding")};
}

std::vector<GridTable::Row> finding_rows(const Facts& facts) {
    std::vector<GridTable::Row> rows;
    for (const auto& finding : facts.findings)
        rows.push_back({{severity_text(finding.severity), text(finding.kernel), text(finding.place),
                         text(finding.origin), text(finding.text).simplified()},
                        text(finding.id) + QStringLiteral("\n") + text(finding.text)});
    return rows;
}

}  // namespace egpu::ui
