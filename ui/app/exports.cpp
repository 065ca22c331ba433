// SPDX-License-Identifier: Apache-2.0
#include "ui/app/exports.hpp"

#include <QApplication>
#include <QClipboard>
#include <QFileDialog>
#include <QImageWriter>
#include <QPixmap>
#include <QSaveFile>
#include <QWidget>

#include "base/files.hpp"

namespace egpu::ui {
namespace {

void report(const Status& status, const QString& file, MessageLog& log) {
    if (status)
        log.add(Severity::hint, QObject::tr("written: %1").arg(file));
    else
        log.add(Severity::error, QString::fromStdString(to_text(status.error())));
}

}  // namespace

void copy_image(QWidget& widget) {
    QApplication::clipboard()->setPixmap(widget.grab());
}

Status save_image(QWidget& widget, const QString& file) {
    QSaveFile out(file);
    if (!out.open(QIODevice::WriteOnly))
        return error("EGPU-X081", (file + QStringLiteral(" can't be written: ") + out.errorString()).toStdString());
    const QString ending = file.section(QLatin1Char('.'), -1).toLower();
    QImageWriter writer(&out,
                        QImageWriter::supportedImageFormats().contains(ending.toLatin1()) ? ending.toLatin1() : "png");
    writer.setCompression(100);  // of PNG: as small as it gets
    if (!writer.write(widget.grab().toImage().convertToFormat(QImage::Format_RGB888)))
        return error("EGPU-X081", (file + QStringLiteral(" can't be written: ") + writer.errorString()).toStdString());
    if (!out.commit())
        return error("EGPU-X081", (file + QStringLiteral(" can't be written: ") + out.errorString()).toStdString());
    return ok();
}

Status save_csv(const Chart& chart, const TimeRange& range, const QString& file) {
    return write_file(file.toStdString(), to_csv(chart, range));
}

void ask_and_save_image(QWidget& widget, MessageLog& log) {
    const QString file = QFileDialog::getSaveFileName(&widget, QObject::tr("Save image"), QStringLiteral("egpu.png"),
                                                      QObject::tr("Pictures (*.png)"));
    if (!file.isEmpty())
        report(save_image(widget, file), file, log);
}

void ask_and_save_csv(QWidget& parent, const Chart& chart, const TimeRange& range, MessageLog& log) {
    const QString file = QFileDialog::getSaveFileName(&parent, QObject::tr("Save the visible range"),
                                                      QStringLiteral("egpu.csv"), QObject::tr("Tables (*.csv)"));
    if (!file.isEmpty())
        report(save_csv(chart, range, file), file, log);
}

}  // namespace egpu::ui
