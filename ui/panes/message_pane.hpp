// SPDX-License-Identifier: Apache-2.0
// MessagePane: the log with its filters. It follows the newest line unless somebody scrolled up.
#pragma once

#include <QWidget>

#include "ui/model/message_log.hpp"

class QComboBox;
class QLabel;
class QLineEdit;
class QTableView;

namespace egpu::ui {

class MessagePane : public QWidget {
    Q_OBJECT
public:
    explicit MessagePane(MessageLog& log, QWidget* parent = nullptr);

    QComboBox& severity() { return *severity_; }
    QLineEdit& filter() { return *filter_; }

private:
    void apply_filter();
    void added();

    MessageLog& log_;
    QComboBox* severity_;
    QLineEdit* filter_;
    QLabel* hidden_;
    QTableView* view_;
    bool at_end_ = true;
};

}  // namespace egpu::ui
