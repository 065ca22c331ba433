// SPDX-License-Identifier: Apache-2.0
// GoogleTest with an application of Qt's around it.
#include <gtest/gtest.h>

#include <QApplication>
#include <QStyleFactory>
#include <cstdio>

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    if (!qEnvironmentVariableIsSet("QT_QPA_PLATFORM"))
        qputenv("QT_QPA_PLATFORM", "offscreen");
    QApplication application(argc, argv);
    QApplication::setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
    // The offscreen platform complains of each window it can't tell the window manager about.
    qInstallMessageHandler([](QtMsgType type, const QMessageLogContext&, const QString& text) {
        if (type != QtDebugMsg && !text.startsWith(QLatin1String("This plugin does not support")))
            std::fprintf(stderr, "%s\n", text.toUtf8().constData());
    });
    return RUN_ALL_TESTS();
}
