// SPDX-License-Identifier: Apache-2.0
#include "ui/model/kernel_table.hpp"

#include <QStringList>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/units.hpp"
#include "ui/model/text_filter.hpp"
#include "ui/model/unit.hpp"

namespace egpu::ui {
namespace {

/// n/a sorts below every number.
double number_or_lowest(const std::optional<double>& value) {
    return value.value_or(-1);
}

QString rate(const std::optional<double>& value, Unit unit) {
    return QString::fromStdString(human_text(value.value_or(std::nan("")), unit));
}

/// Where launches ran that nobody counted, or the last copy was not made, it may be more.
QString total(const std::optional<std::uint64_t>& bytes, bool at_least) {
    if (!bytes)
        return QStringLiteral("n/a");
    return (at_least ? QStringLiteral("≥ ") : QString()) +
           QString::fromStdString(format_bytes(static_cast<double>(*bytes)));
}

QString exact_total(const std::optional<std::uint64_t>& bytes, bool at_least) {
    if (!bytes)
        return QStringLiteral("n/a");
    return (at_least ? QStringLiteral("at least ") : QString()) + QString::fromStdString(format_count(*bytes)) +
           QStringLiteral(" B");
}

QString count(std::uint64_t value) {
    return QString::fromStdString(format_count(value));
}

/// A sign before the word: states are told apart at a glance, without colour.
QString state_text(host::KernelState state) {
    const char* sign = state == host::KernelState::instrumented  ? "●"
                       : state == host::KernelState::not_matched ? "○"
                       : state == host::KernelState::failed      ? "✕"
                                                                 : "▲";
    return QStringLiteral("%1 %2").arg(QString::fromUtf8(sign), QString::fromUtf8(host::to_words(state)));
}

QString registers_text(const KernelRow& row) {
    const auto text = [](const std::optional<std::uint32_t>& value) {
        return value ? QString::number(*value) : QStringLiteral("n/a");
    };
    return row.registers_instrumented ? text(row.registers) + QStringLiteral(" → ") + text(row.registers_instrumented)
                                      : text(row.registers);
}

QString cell(const KernelRow& row, int column) {
    switch (column) {
        case KernelTable::name:
            return QString::fromStdString(row.name);
        case KernelTable::state:
            return state_text(row.state);
        case KernelTable::launch_rate:
            return rate(row.launch_rate, Unit::per_second);
        case KernelTable::read_rate:
            return rate(row.read_rate, Unit::bytes_per_second);
        case KernelTable::written_rate:
            return rate(row.written_rate, Unit::bytes_per_second);
        case KernelTable::launches:
            return count(row.launches);
        case KernelTable::instrumented:
            return count(row.instrumented);
        case KernelTable::read_bytes:
            return total(row.read_bytes, row.bytes_at_least);
        case KernelTable::written_bytes:
            return total(row.written_bytes, row.bytes_at_least);
        case KernelTable::sectors:
            return row.sectors_per_load ? QString::number(*row.sectors_per_load, 'f', 1) : QStringLiteral("n/a");
        case KernelTable::sector_use:
            return row.sector_use ? QString::fromStdString(format_percent(*row.sector_use)) : QStringLiteral("n/a");
        case KernelTable::registers:
            return registers_text(row);
        case KernelTable::reason:
            return QString::fromStdString(row.reason);
        case KernelTable::module:
            return QString::fromStdString(row.module);
        default:
            return {};
    }
}

QString tip(const KernelRow& row, int column) {
    const auto exact = [](const std::optional<double>& value, Unit unit) {
        return QString::fromStdString(exact_text(value.value_or(std::nan("")), unit));
    };
    switch (column) {
        case KernelTable::name:
            return QString::fromStdString(row.signature);
        case KernelTable::launch_rate:
            return exact(row.launch_rate, Unit::per_second);
        case KernelTable::read_rate:
            return exact(row.read_rate, Unit::bytes_per_second);
        case KernelTable::written_rate:
            return exact(row.written_rate, Unit::bytes_per_second);
        case KernelTable::read_bytes:
            return exact_total(row.read_bytes, row.bytes_at_least);
        case KernelTable::written_bytes:
            return exact_total(row.written_bytes, row.bytes_at_least);
        case KernelTable::state:
        case KernelTable::reason:
            return QString::fromStdString(row.reason);
        default:
            return {};
    }
}

bool is_number(int column) {
    return column >= KernelTable::launch_rate && column <= KernelTable::registers;
}

}  // namespace

void KernelTable::set_facts(FactsPointer facts) {
    Q_EMIT layoutAboutToBeChanged();
    // A row that is selected stays the same kernel: ids of kernels are indices, and only grow.
    const QModelIndexList kept = persistentIndexList();
    std::vector<std::uint32_t> kernels;
    for (const auto& index : kept)
        kernels.push_back(order_[static_cast<std::size_t>(index.row())]);
    facts_ = std::move(facts);
    arrange();
    for (qsizetype i = 0; i < kept.size(); ++i) {
        const auto found = std::find(order_.begin(), order_.end(), kernels[static_cast<std::size_t>(i)]);
        changePersistentIndex(kept[i], found == order_.end()
                                           ? QModelIndex()
                                           : createIndex(static_cast<int>(found - order_.begin()), kept[i].column()));
    }
    Q_EMIT layoutChanged();
}

void KernelTable::set_filter(const QString& text) {
    beginResetModel();
    split_filter(text.toLower().toStdString(), &wanted_, &unwanted_);
    arrange();
    endResetModel();
}

bool KernelTable::matches(const KernelRow& row) const {
    if (wanted_.empty() && unwanted_.empty())
        return true;
    return passes_filter({row.signature, row.module, host::to_words(row.state), row.reason}, wanted_, unwanted_);
}

bool KernelTable::before(const KernelRow& left, const KernelRow& right) const {
    switch (column_) {
        case name:
            return left.name < right.name;
        case state:
            return left.state < right.state;
        case launch_rate:
            return number_or_lowest(left.launch_rate) < number_or_lowest(right.launch_rate);
        case read_rate:
            return number_or_lowest(left.read_rate) < number_or_lowest(right.read_rate);
        case written_rate:
            return number_or_lowest(left.written_rate) < number_or_lowest(right.written_rate);
        case launches:
            return left.launches < right.launches;
        case instrumented:
            return left.instrumented < right.instrumented;
        case read_bytes:
            return left.read_bytes < right.read_bytes;
        case written_bytes:
            return left.written_bytes < right.written_bytes;
        case sectors:
            return number_or_lowest(left.sectors_per_load) < number_or_lowest(right.sectors_per_load);
        case sector_use:
            return number_or_lowest(left.sector_use) < number_or_lowest(right.sector_use);
        case registers:
            return left.registers.value_or(0) < right.registers.value_or(0);
        case reason:
            return left.reason < right.reason;
        default:
            return left.module < right.module;
    }
}

void KernelTable::arrange() {
    order_.clear();
    if (!facts_)
        return;
    const auto& rows = facts_->kernels;
    for (std::size_t i = 0; i < rows.size(); ++i)
        if (matches(rows[i]))
            order_.push_back(static_cast<std::uint32_t>(i));
    std::stable_sort(order_.begin(), order_.end(), [&](std::uint32_t left, std::uint32_t right) {
        return direction_ == Qt::AscendingOrder ? before(rows[left], rows[right]) : before(rows[right], rows[left]);
    });
}

void KernelTable::sort(int column, Qt::SortOrder order) {
    column_ = column;
    direction_ = order;
    set_facts(facts_);
}

QString KernelTable::count_text() const {
    const auto all = facts_ ? facts_->kernels.size() : 0;
    return order_.size() == all ? (all == 1 ? tr("1 kernel") : tr("%1 kernels").arg(count(all)))
                                : tr("%1 of %2 kernels").arg(count(order_.size()), count(all));
}

int KernelTable::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(order_.size());
}

QVariant KernelTable::data(const QModelIndex& index, int role) const {
    if (!index.isValid() || index.row() >= rowCount())
        return {};
    const KernelRow& row = kernel(index.row());
    switch (role) {
        case Qt::DisplayRole:
            return cell(row, index.column());
        case Qt::ToolTipRole:
            return tip(row, index.column());
        case Qt::TextAlignmentRole:
            return QVariant(is_number(index.column()) ? Qt::AlignRight | Qt::AlignVCenter
                                                      : Qt::AlignLeft | Qt::AlignVCenter);
        case Qt::UserRole:
            return row.id;
        default:
            return {};
    }
}

QVariant KernelTable::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal)
        return {};
    static const char* const kNames[kColumns] = {"Kernel",     "State",        "Launches/s", "Read/s",  "Written/s",
                                                 "Launches",   "Instrumented", "Read",       "Written", "Sectors/load",
                                                 "Sector use", "Registers",    "Module",     "Reason"};
    static const char* const kTips[kColumns] = {
        "Short name; the signature is in the tip",
        "What became of it: instrumented, not matched, no PTX, refused, failed",
        "Launches a second over the last second",
        "Bytes that its instructions asked to read, a second; caches are not left out",
        "Bytes that its instructions asked to write, a second; caches are not left out",
        "Launches since the session began",
        "Of these, launches of the instrumented copy",
        "Bytes that its instructions asked to read since the session began; ≥: at least so many",
        "Bytes that its instructions asked to write since the session began; ≥: at least so many",
        "32-byte sectors that a warp's load of global memory touches: 4.0 for 4 bytes of 32 neighbours, 32.0 at worst",
        "Share of these sectors' bytes that was asked for",
        "Registers a thread: of the original, and of the instrumented copy",
        "File that holds it",
        "Why it is not instrumented, or not always"};
    if (role == Qt::DisplayRole)
        return tr(kNames[section]);
    if (role == Qt::ToolTipRole)
        return QString::fromUtf8(kTips[section]);
    if (role == Qt::TextAlignmentRole)
        return QVariant(is_number(section) ? Qt::AlignRight | Qt::AlignVCenter : Qt::AlignLeft | Qt::AlignVCenter);
    return {};
}

}  // namespace egpu::ui
