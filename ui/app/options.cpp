// SPDX-License-Identifier: Apache-2.0
#include "ui/app/options.hpp"

#include <QCommandLineParser>
#include <QRegularExpression>

namespace egpu::ui {
namespace {

Diagnostic usage(const QString& message) {
    return error("EGPU-X080", message.toStdString(), "see: egpu ui --help");
}

std::optional<QSize> size_of(const QString& text) {
    static const QRegularExpression kForm(QStringLiteral("^([0-9]{2,5})x([0-9]{2,5})$"));
    const auto match = kForm.match(text);
    if (!match.hasMatch())
        return std::nullopt;
    const QSize size(match.captured(1).toInt(), match.captured(2).toInt());
    return size.width() >= 320 && size.height() >= 240 && size.width() <= 10000 && size.height() <= 10000
               ? std::optional(size)
               : std::nullopt;
}

void declare(QCommandLineParser& parser) {
    const QString value = QStringLiteral("VALUE");
    parser.addOptions({
        {{QStringLiteral("h"), QStringLiteral("help")}, {}},
        {QStringLiteral("version"), {}},
        {QStringLiteral("demo"), {}},
        {QStringLiteral("verbose"), {}},
        {QStringLiteral("theme"), {}, value, QStringLiteral("dark")},
        {QStringLiteral("screenshot"), {}, value},
        {QStringLiteral("size"), {}, value, QStringLiteral("1440x900")},
        {QStringLiteral("after"), {}, value, QStringLiteral("3")},
    });
}

/// The values of --theme, --size and --after.
Status read_values(const QCommandLineParser& parser, Options& options) {
    const QString theme = parser.value(QStringLiteral("theme"));
    if (theme != QLatin1String("dark") && theme != QLatin1String("light"))
        return usage(QStringLiteral("--theme is dark or light, not '%1'").arg(theme));
    options.theme = theme == QLatin1String("dark") ? ThemeName::dark : ThemeName::light;
    const auto size = size_of(parser.value(QStringLiteral("size")));
    if (!size)
        return usage(QStringLiteral("--size is WIDTHxHEIGHT, from 320x240 to 10000x10000, not '%1'")
                         .arg(parser.value(QStringLiteral("size"))));
    options.size = *size;
    bool is_number = false;
    options.after_s = parser.value(QStringLiteral("after")).toDouble(&is_number);
    if (!is_number || !(options.after_s >= 0 && options.after_s <= 3600))
        return usage(QStringLiteral("--after is a number of seconds from 0 to 3600, not '%1'")
                         .arg(parser.value(QStringLiteral("after"))));
    return ok();
}

}  // namespace

Result<Options> parse_options(const QStringList& arguments) {
    QCommandLineParser parser;
    declare(parser);
    if (!parser.parse(arguments))
        return usage(parser.errorText());
    Options options;
    options.help = parser.isSet(QStringLiteral("help"));
    options.version = parser.isSet(QStringLiteral("version"));
    options.demo = parser.isSet(QStringLiteral("demo"));
    options.verbose = parser.isSet(QStringLiteral("verbose"));
    options.screenshot = parser.value(QStringLiteral("screenshot"));
    if (parser.isSet(QStringLiteral("screenshot")) && options.screenshot.isEmpty())
        return usage(QStringLiteral("--screenshot is empty: name the picture's file"));
    if (auto read = read_values(parser, options); !read)
        return read.errors();
    const QStringList what = parser.positionalArguments();
    if (what.size() > 1)
        return usage(QStringLiteral("one session or file at a time: '%1' is one too many").arg(what[1]));
    options.what = what.value(0);
    if (options.demo && !options.what.isEmpty())
        return usage(QStringLiteral("--demo shows demo data, not '%1'").arg(options.what));
    if (parser.isSet(QStringLiteral("after")) && options.screenshot.isEmpty())
        return usage(QStringLiteral("--after goes with --screenshot"));
    return options;
}

QString help_text() {
    QString text = QStringLiteral(
        "Watch a session: what kernels read, write and wait for, live or from a recording.\n"
        "Usage: egpu ui [OPTIONS] [SESSION|FILE]\n\n"
        "  SESSION  a running session's number, as egpu run and the start page say it\n"
        "  FILE     a recording, made by egpu run --record FILE\n"
        "           left out: a page where a program can be started or a session opened\n\nOptions:\n");
    const struct {
        const char *name, *help;
    } kOptions[] = {
        {"--demo", "Show demo data: needs neither GPU nor session"},
        {"--theme dark|light", "Colours (dark)"},
        {"--screenshot FILE", "Write a picture (PNG) of the window instead of showing it; needs no display"},
        {"--size WxH", "Of the window, in pixels (1440x900)"},
        {"--after SECONDS", "With --screenshot: until the picture is taken (3)"},
        {"--verbose", "Say in the status bar how long drawing takes"},
        {"--version", "Print the version"},
        {"-h, --help", "Print this help"},
    };
    for (const auto& option : kOptions)
        text += QStringLiteral("  %1 %2\n").arg(QLatin1String(option.name), -22).arg(QLatin1String(option.help));
    text += QStringLiteral(
        "\nExamples:\n"
        "  egpu ui --demo\n"
        "  egpu ui 4711\n"
        "  egpu ui run.egpu --theme light --screenshot run.png\n");
    return text;
}

}  // namespace egpu::ui
