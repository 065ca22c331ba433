// SPDX-License-Identifier: Apache-2.0
#include "ui/model/message_log.hpp"

#include "ui/model/text_filter.hpp"

namespace egpu::ui {
namespace {

QString name_of(Severity severity) {
    switch (severity) {
        case Severity::hint:
            return QStringLiteral("info");
        case Severity::warning:
            return QStringLiteral("warning");
        case Severity::error:
            return QStringLiteral("error");
    }
    return {};
}

}  // namespace

Severity severity_of(const std::string& line) {
    const auto says = [&](const char* word) { return line.find(word) != std::string::npos; };
    if (says("error: "))
        return Severity::error;
    return says("warning: ") ? Severity::warning : Severity::hint;
}

bool MessageLog::passes(const Message& message) const {
    if (message.severity < least_)
        return false;
    return (wanted_.empty() && unwanted_.empty()) ||
           passes_filter({message.text.toStdString(), name_of(message.severity).toStdString()}, wanted_, unwanted_);
}

void MessageLog::drop_oldest() {
    if (!shown_.empty() && shown_.front() == dropped_) {
        beginRemoveRows({}, 0, 0);
        shown_.pop_front();
        endRemoveRows();
    }
    messages_.pop_front();
    ++dropped_;
}

void MessageLog::add(Severity severity, const QString& text) {
    messages_.push_back({QDateTime::currentDateTime(), severity, text});
    if (passes(messages_.back())) {
        beginInsertRows({}, rowCount(), rowCount());
        shown_.push_back(dropped_ + messages_.size() - 1);
        endInsertRows();
    }
    if (messages_.size() > kMost)
        drop_oldest();
}

void MessageLog::set_filter(Severity least, const QString& words) {
    beginResetModel();
    least_ = least;
    split_filter(words.toLower().toStdString(), &wanted_, &unwanted_);
    shown_.clear();
    for (std::size_t i = 0; i < messages_.size(); ++i)
        if (passes(messages_[i]))
            shown_.push_back(dropped_ + i);
    endResetModel();
}

int MessageLog::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(shown_.size());
}

QVariant MessageLog::data(const QModelIndex& index, int role) const {
    if (!index.isValid() || index.row() >= rowCount())
        return {};
    const Message& each = message(index.row());
    if (role == Qt::UserRole)
        return static_cast<int>(each.severity);
    if (role == Qt::ToolTipRole && index.column() == text)
        return each.text;
    if (role != Qt::DisplayRole)
        return {};
    switch (index.column()) {
        case time:
            return each.when.toString(QStringLiteral("HH:mm:ss"));
        case severity:
            return name_of(each.severity);
        default:
            return each.text;
    }
}

QVariant MessageLog::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal)
        return {};
    if (role == Qt::TextAlignmentRole)
        return QVariant(Qt::AlignLeft | Qt::AlignVCenter);
    if (role != Qt::DisplayRole)
        return {};
    return section == time ? tr("Time") : section == severity ? tr("Severity") : tr("Message");
}

}  // namespace egpu::ui
