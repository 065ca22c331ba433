// SPDX-License-Identifier: Apache-2.0
// Pictures of charts and their visible figures, to files and the clipboard. What can't be written is said in the log.
#pragma once

#include <QString>

#include "base/result.hpp"
#include "ui/model/charts.hpp"
#include "ui/model/message_log.hpp"

class QWidget;

namespace egpu::ui {

void copy_image(QWidget& widget);
/// EGPU-X081 where a picture can't go there: a folder, a device, a pipe, a folder that can't be written, or the very
/// file of which it is to be a picture (`shown`; "" where that is none).
Status picture_can_be_written(const QString& file, const QString& shown = {});
/// PNG, or what the file's ending names, whole or not at all; a link is followed. EGPU-X081: can't be written.
Status save_image(QWidget& widget, const QString& file);
Status save_csv(const Chart& chart, const TimeRange& range, const QString& file);

void ask_and_save_image(QWidget& widget, MessageLog& log);
void ask_and_save_csv(QWidget& parent, const Chart& chart, const TimeRange& range, MessageLog& log);

}  // namespace egpu::ui
