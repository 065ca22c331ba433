// SPDX-License-Identifier: Apache-2.0
#include "ui/app/application.hpp"

#include <QApplication>
#include <QStyleFactory>
#include <QTimer>
#include <cstdio>

#include "base/version.hpp"
#include "ui/app/exports.hpp"
#include "ui/app/main_window.hpp"
#include "ui/app/options.hpp"

namespace egpu::ui {
namespace {

enum ExitCode { kDone = 0, kUsage = 2, kEnvironment = 3 };

void print_error(const Diagnostic& diagnostic) {
    std::fprintf(stderr, "%s\n", to_text(diagnostic).c_str());
}

QStringList words_of(int argc, char** argv) {
    QStringList words;
    for (int i = 0; i < argc; ++i)
        words << QString::fromLocal8Bit(argv[i]);
    return words;
}

/// Without a display, pictures are drawn in memory. Qt would end the program instead.
void choose_platform(const Options& options) {
    const bool display = qEnvironmentVariableIsSet("DISPLAY") || qEnvironmentVariableIsSet("WAYLAND_DISPLAY");
    if (!display && !options.screenshot.isEmpty() && !qEnvironmentVariableIsSet("QT_QPA_PLATFORM"))
        qputenv("QT_QPA_PLATFORM", "offscreen");
}

bool has_display() {
    return qEnvironmentVariableIsSet("DISPLAY") || qEnvironmentVariableIsSet("WAYLAND_DISPLAY") ||
           qEnvironmentVariableIsSet("QT_QPA_PLATFORM");
}

/// Qt's own complaints, of which two mean nothing where a picture is drawn in memory.
void handle_message(QtMsgType type, const QMessageLogContext&, const QString& text) {
    if (type == QtDebugMsg || text.startsWith(QLatin1String("This plugin does not support")) ||
        text.startsWith(QLatin1String("QStandardPaths: XDG_RUNTIME_DIR")))
        return;
    std::fprintf(stderr, "egpu-ui: %s\n", text.toUtf8().constData());
}

/// What is said where nothing could be opened: pictures of an empty window help nobody.
int fail_with_messages(const MessageLog& log) {
    for (int row = 0; row < log.rowCount(); ++row)
        if (log.message(row).severity == Severity::error)
            std::fprintf(stderr, "%s\n", log.message(row).text.toUtf8().constData());
    return kEnvironment;
}

void take_picture_later(MainWindow& window, const Options& options) {
    QTimer::singleShot(static_cast<int>(options.after_s * 1000), &window, [&window, file = options.screenshot] {
        const auto saved = save_image(window, file);
        if (!saved)
            print_error(saved.error());
        QApplication::exit(saved ? kDone : kEnvironment);
    });
}

int show_window(const Options& options, int argc, char** argv) {
    qInstallMessageHandler(handle_message);
    QApplication application(argc, argv);
    QApplication::setApplicationName(QStringLiteral("egpu-ui"));
    QApplication::setDesktopFileName(QStringLiteral("egpu-ui"));
    QApplication::setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
    MainWindow window(options.theme);
    window.resize(options.size);
    window.set_verbose(options.verbose);
    window.show();
    if (options.demo)
        window.open_demo();
    else if (!options.what.isEmpty())
        window.open(options.what);
    const bool wanted = options.demo || !options.what.isEmpty();
    if (wanted && !window.model().running() && !options.screenshot.isEmpty())
        return fail_with_messages(window.model().messages());
    if (!options.screenshot.isEmpty())
        take_picture_later(window, options);
    return QApplication::exec();
}

}  // namespace

int run_application(int argc, char** argv) {
    const auto options = parse_options(words_of(argc, argv));
    if (!options) {
        print_error(options.error());
        return kUsage;
    }
    if (options->help || options->version) {
        std::printf("%s",
                    options->help
                        ? help_text().toUtf8().constData()
                        : (QStringLiteral("egpu-ui ") + QString::fromUtf8(version()) + u'\n').toUtf8().constData());
        return kDone;
    }
    if (!options->screenshot.isEmpty())
        if (const auto writable = picture_can_be_written(options->screenshot, options->what); !writable) {
            print_error(writable.error());
            return kEnvironment;
        }
    choose_platform(*options);
    if (!has_display()) {
        print_error(
            error("EGPU-X065", "the window needs a display, and there is none",
                  "over ssh: ssh -X; a picture without one: egpu ui --screenshot FILE; in a terminal: egpu top"));
        return kEnvironment;
    }
    return show_window(*options, argc, argv);
}

}  // namespace egpu::ui
