// SPDX-License-Identifier: Apache-2.0
#include "ui/app/run_process.hpp"

#include <QCoreApplication>
#include <QFile>
#include <QFileInfo>
#include <QStandardPaths>

#include "host/sessions/running.hpp"

namespace egpu::ui {
namespace {

constexpr int kLookMs = 100, kEndMs = 3000;
constexpr qsizetype kLongestLine = 4096;

/// 0 where there is no such process.
qint64 parent_of(std::uint32_t process) {
    QFile file(QStringLiteral("/proc/%1/stat").arg(process));
    if (!file.open(QIODevice::ReadOnly))
        return 0;
    // Behind the name, which may hold anything: ") S 123".
    const QByteArray text = file.readAll();
    return text.mid(text.lastIndexOf(')') + 4).split(' ').value(0).toLongLong();
}

}  // namespace

QString find_egpu() {
    const QFileInfo beside(QCoreApplication::applicationDirPath() + QStringLiteral("/egpu"));
    return beside.isExecutable() ? beside.filePath() : QStandardPaths::findExecutable(QStringLiteral("egpu"));
}

RunProcess::RunProcess(QObject* parent) : QObject(parent) {
    process_.setInputChannelMode(QProcess::ManagedInputChannel);
    look_.setInterval(kLookMs);
    connect(&look_, &QTimer::timeout, this, &RunProcess::look_for_session);
    connect(&process_, &QProcess::readyReadStandardOutput, this, &RunProcess::read_lines);
    connect(&process_, &QProcess::readyReadStandardError, this, &RunProcess::read_lines);
    connect(&process_, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
        if (error == QProcess::FailedToStart) {
            look_.stop();
            Q_EMIT ended(tr("egpu could not be started: %1").arg(process_.errorString()), true);
        }
    });
    connect(&process_, &QProcess::finished, this, [this](int code, QProcess::ExitStatus status) {
        look_.stop();
        read_lines();
        take_lines(output_, true);
        take_lines(errors_, true);
        const bool crashed = status == QProcess::CrashExit;
        Q_EMIT ended(crashed ? tr("egpu run crashed") : tr("the program ended with exit code %1").arg(code),
                     crashed || code != 0);
    });
}

RunProcess::~RunProcess() {
    process_.disconnect(this);
    stop();
}

void RunProcess::start(const RunRequest& request) {
    const QString egpu = find_egpu();
    if (egpu.isEmpty()) {
        Q_EMIT ended(tr("the egpu command is neither beside egpu-ui nor in PATH: install it, or start the session in a "
                        "terminal"),
                     true);
        return;
    }
    output_.clear();
    errors_.clear();
    process_.setWorkingDirectory(request.folder);
    process_.start(egpu, request.command());
    process_.closeWriteChannel();
    look_.start();
}

void RunProcess::stop() {
    if (!running())
        return;
    process_.terminate();  // egpu hands it on to the program first
    if (!process_.waitForFinished(kEndMs))
        process_.kill();
    process_.waitForFinished(kEndMs);
}

void RunProcess::look_for_session() {
    for (const auto& session : host::running_sessions()) {
        // A run whose plugins have code is a child of the process that was started, which watches over it.
        const bool ours = static_cast<qint64>(session.number) == process_.processId() ||
                          parent_of(session.number) == process_.processId();
        if (!ours || !session.unreadable.empty())
            continue;
        look_.stop();
        Q_EMIT session_ready(QString::number(session.number));
        return;
    }
}

void RunProcess::read_lines() {
    output_ += process_.readAllStandardOutput();
    errors_ += process_.readAllStandardError();
    take_lines(output_, false);
    take_lines(errors_, false);
}

void RunProcess::take_lines(QByteArray& rest, bool flush) {
    const bool of_egpu = &rest == &errors_;
    const QByteArray prefix("egpu: ");
    for (;;) {
        qsizetype end = rest.indexOf('\n');
        if (end < 0 && (rest.size() > kLongestLine || (flush && !rest.isEmpty())))
            end = std::min(rest.size(), kLongestLine);
        if (end < 0)
            return;
        QByteArray line = rest.left(end);
        rest.remove(0, end + (end < rest.size() && rest[end] == '\n' ? 1 : 0));
        const bool by_egpu = of_egpu && line.startsWith(prefix);
        if (by_egpu)
            line.remove(0, prefix.size());
        if (!line.trimmed().isEmpty())
            Q_EMIT said(QString::fromUtf8(line), by_egpu);
    }
}

}  // namespace egpu::ui
