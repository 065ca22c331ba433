// SPDX-License-Identifier: Apache-2.0
#include "ui/app/exports.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <QApplication>
#include <QBuffer>
#include <QClipboard>
#include <QFileDialog>
#include <QImageWriter>
#include <QPixmap>
#include <QWidget>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/files.hpp"

namespace egpu::ui {
namespace {

void report(const Status& status, const QString& file, MessageLog& log) {
    if (status)
        log.add(Severity::hint, QObject::tr("written: %1").arg(file));
    else
        log.add(Severity::error, QString::fromStdString(to_text(status.error())));
}

const char* kind_of(std::filesystem::file_type type) {
    switch (type) {
        case std::filesystem::file_type::fifo:
            return "a pipe";
        case std::filesystem::file_type::socket:
            return "a socket";
        case std::filesystem::file_type::block:
        case std::filesystem::file_type::character:
            return "a device";
        default:
            return "no file";
    }
}

}  // namespace

void copy_image(QWidget& widget) {
    QApplication::clipboard()->setPixmap(widget.grab());
}

Status picture_can_be_written(const QString& file, const QString& shown) {
    namespace fs = std::filesystem;
    const std::string name = file.toStdString();
    const auto refused = [&](const std::string& why, const char* hint) { return error("EGPU-X081", why, hint); };
    std::error_code failed;
    const auto status = fs::status(name, failed);  // of what a link leads to
    if (fs::is_directory(status))
        return refused(fmt::format("{} is a folder", name), "name a file in it");
    if (fs::exists(status) && !fs::is_regular_file(status))
        return refused(fmt::format("{} is {}: it is left as it is", name, kind_of(status.type())), "name another file");
    if (!shown.isEmpty() && fs::equivalent(name, shown.toStdString(), failed))
        return refused(fmt::format("{} is the recording that is shown: it is left as it is", name),
                       "name another file");
    const fs::path folder = fs::weakly_canonical(fs::absolute(name), failed).parent_path();
    if (!fs::is_directory(folder, failed))
        return refused(fmt::format("{} can't be written: there is no folder {}", name, folder.string()),
                       "make it first");
    // The picture is written beside its name first, so that nobody ever sees half of one.
    if (::access(folder.c_str(), W_OK | X_OK) != 0)
        return refused(fmt::format("{} can't be written: {}: {}", name, folder.string(), std::strerror(errno)),
                       "name a file in a folder that can be written");
    return ok();
}

Status save_image(QWidget& widget, const QString& file) {
    if (Status writable = picture_can_be_written(file); !writable)
        return writable;
    const auto problem = [&](const std::string& why) {
        return error("EGPU-X081", fmt::format("{} can't be written: {}", file.toStdString(), why));
    };
    const QByteArray ending = file.section(QLatin1Char('.'), -1).toLower().toLatin1();
    QBuffer picture;
    QImageWriter writer(&picture, QImageWriter::supportedImageFormats().contains(ending) ? ending : "png");
    writer.setCompression(100);  // of PNG: as small as it gets
    if (!writer.write(widget.grab().toImage().convertToFormat(QImage::Format_RGB888)))
        return problem(writer.errorString().toStdString());
    const auto written =
        write_file(file.toStdString(), {picture.data().constData(), static_cast<std::size_t>(picture.size())});
    return written ? ok() : problem(written.error().message);
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
