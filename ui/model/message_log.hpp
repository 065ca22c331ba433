// SPDX-License-Identifier: Apache-2.0
// MessageLog: what egpu, the observed program's egpu and the window had to say, with a filter by severity and words.
#pragma once

#include <QAbstractTableModel>
#include <QDateTime>
#include <deque>
#include <string>
#include <vector>

#include "base/diagnostic.hpp"

namespace egpu::ui {

/// The severity that a line of egpu's says of itself: "error: …", "warning: …"; else a hint.
Severity severity_of(const std::string& line);

class MessageLog : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Column { time, severity, text };
    static constexpr std::size_t kMost = 20'000;  ///< the oldest make way

    struct Message {
        QDateTime when;
        Severity severity = Severity::hint;
        QString text;
    };

    using QAbstractTableModel::QAbstractTableModel;

    void add(Severity severity, const QString& text);
    /// Shows this severity and what is worse, with the words of a filter ("gemm -hint").
    void set_filter(Severity least, const QString& words);
    std::size_t hidden() const { return messages_.size() - shown_.size(); }
    const Message& message(int row) const { return messages_[shown_[static_cast<std::size_t>(row)] - dropped_]; }

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : 3; }
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    bool passes(const Message& message) const;
    void drop_oldest();

    std::deque<Message> messages_;
    std::size_t dropped_ = 0;        ///< messages that made way
    std::deque<std::size_t> shown_;  ///< numbers of messages since the start
    Severity least_ = Severity::hint;
    std::vector<std::string> wanted_, unwanted_;
};

}  // namespace egpu::ui
