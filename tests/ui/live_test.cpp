// SPDX-License-Identifier: Apache-2.0
// The window over real sessions on the simulated GPU: live data, probes that go, every way in which a session ends.
#include <gtest/gtest.h>

#include <unistd.h>
#include <QFile>
#include <QLineEdit>
#include <QListWidget>
#include <QProcess>
#include <QPushButton>
#include <QStandardPaths>
#include <QTableView>
#include <QTemporaryDir>

#include <csignal>

#include "scripted_feed.hpp"
#include "ui/panes/probe_pane.hpp"
#include "ui/panes/session_bar.hpp"
#include "ui/panes/start_page.hpp"

namespace egpu::ui {
namespace {

constexpr int kLongMs = 60'000;

QString bin(const char* name) {
    return QStringLiteral(EGPU_BINARY_DIR "/bin/") + QString::fromLatin1(name);
}

/// egpu run over a workload that goes on until it is ended, with a window that shows it.
class Live : public testing::Test {
protected:
    void start(const QStringList& more = {}) {
        run_.start(bin("egpu"),
                   QStringList{"run", "--simulated", "-p", "bandwidth", "-p", "latency"} + more +
                       QStringList{"--", bin("egpu-workload"), "loop", "--elements", "1024", "--seconds", "120"});
        ASSERT_TRUE(run_.waitForStarted());
        run_.closeWriteChannel();
        window_.resize(1000, 700);
        window_.show();
        ASSERT_TRUE(QTest::qWaitFor(
            [this] {
                if (!window_.model().running())
                    window_.open_session(QString::number(run_.processId()));
                return points("session/bandwidth") > 20;
            },
            kLongMs))
            << run_.readAllStandardError().toStdString();
    }

    void TearDown() override {
        window_.show_start_page();
        if (run_.state() != QProcess::NotRunning) {
            run_.kill();
            run_.waitForFinished();
        }
    }

    std::uint64_t points(const char* chart) {
        const auto* found = window_.model().charts().find(chart);
        return found == nullptr || found->traces.empty() ? 0 : found->traces.front()->points.end();
    }
    Life life() { return window_.model().life(); }
    bool wait_for(Life life) {
        return QTest::qWaitFor([&] { return this->life() == life; }, kLongMs);
    }
    std::string state() { return window_.bar().state_text().toStdString(); }
    pid_t application() { return static_cast<pid_t>(window_.model().facts()->pid); }
    QString segment() { return QStringLiteral("/dev/shm/egpu-%1-%2").arg(::getuid()).arg(run_.processId()); }

    QProcess run_;
    MainWindow window_{ThemeName::dark};
};

TEST_F(Live, ShowsBandwidthLatencyKernelsAndProbes) {
    start();
    EXPECT_EQ(life(), Life::live);
    ASSERT_TRUE(QTest::qWaitFor([&] { return window_.model().kernels().rowCount() == 1; }, kLongMs));
    ASSERT_TRUE(QTest::qWaitFor([&] { return window_.model().kernels().kernel(0).read_rate.has_value(); }, kLongMs));
    const auto& kernel = window_.model().kernels().kernel(0);
    EXPECT_EQ(kernel.name, "loop_step");
    EXPECT_EQ(kernel.state, host::KernelState::instrumented);
    // It reads and writes 4 bytes an element: the same rate.
    EXPECT_NEAR(*kernel.read_rate, *kernel.written_rate, *kernel.read_rate * 0.01);
    EXPECT_NEAR(*kernel.read_rate, *kernel.launch_rate * 4096, *kernel.read_rate * 0.5);
    EXPECT_EQ(window_.model().probes().rowCount(), 2);
    bool latency = false;
    for (const auto& chart : window_.model().charts().all())
        latency = latency || (chart->unit == Unit::simulated_cycles && chart->logarithmic && chart->traces.size() >= 3);
    EXPECT_TRUE(latency) << "no chart of percentiles in simulated cycles";
}

TEST_F(Live, AProbeIsRemovedAndAddedFromThePane) {
    start();
    auto& pane = window_.probe_pane();
    auto& probes = window_.model().probes();
    ASSERT_TRUE(QTest::qWaitFor([&] { return probes.rowCount() == 2; }, kLongMs));
    const int row = probes.index(0, 0).data().toString().startsWith("latency") ? 0 : 1;
    pane.view().selectRow(row);
    ASSERT_TRUE(QTest::qWaitFor([&] { return pane.remove_button().isEnabled(); }));
    pane.remove_button().click();
    EXPECT_TRUE(QTest::qWaitFor([&] { return probes.index(row, 2).data().toString() == "detached"; }, kLongMs));
    pane.what().setText("latency");
    pane.add_button().click();
    EXPECT_TRUE(QTest::qWaitFor([&] { return probes.index(probes.rowCount() - 1, 2).data().toString() == "attached"; },
                                kLongMs));
}

TEST_F(Live, AnEndIsSaidAndItsDataStays) {
    start();
    ::kill(static_cast<pid_t>(run_.processId()), SIGINT);
    ASSERT_TRUE(wait_for(Life::ended)) << state();
    const auto before = points("session/bandwidth");
    window_.fit();
    EXPECT_GT(before, 20u);
    EXPECT_EQ(window_.link().viewport().range().end, window_.model().charts().extent()->end);
}

TEST_F(Live, AKilledApplicationIsSaidAndItsDataStays) {
    start();
    ASSERT_TRUE(QTest::qWaitFor([&] { return window_.model().facts() && window_.model().facts()->pid != 0; }, kLongMs));
    ::kill(application(), SIGKILL);
    ASSERT_TRUE(QTest::qWaitFor([&] { return life() == Life::ended || life() == Life::damaged; }, kLongMs)) << state();
    EXPECT_NE(state().find("killed"), std::string::npos) << state();
    EXPECT_GT(points("session/bandwidth"), 20u);
}

TEST_F(Live, AKilledEgpuProcessIsSaid) {
    start();
    const auto pid = application();
    run_.kill();
    run_.waitForFinished();
    EXPECT_TRUE(QTest::qWaitFor([&] { return life() == Life::ended || life() == Life::damaged; }, kLongMs)) << state();
    EXPECT_GT(points("session/bandwidth"), 20u);
    ::kill(pid, SIGKILL);
    QFile::remove(segment());
    QFile::remove(segment() + QStringLiteral(".sock"));
}

TEST_F(Live, ASegmentFullOfNoiseHarmsNobody) {
    start();
    QFile file(segment());
    ASSERT_TRUE(file.open(QIODevice::ReadWrite));
    // All but the first page: a header that is noise is no session at all.
    QByteArray noise(static_cast<qsizetype>(file.size() - 4096), '\0');
    for (qsizetype i = 0; i < noise.size(); ++i)
        noise[i] = static_cast<char>(i * 2654435761u >> 13);
    ASSERT_TRUE(file.seek(4096));
    file.write(noise);
    file.close();
    const bool said = QTest::qWaitFor(
        [&] {
            file.open(QIODevice::ReadWrite);
            file.seek(4096);
            file.write(noise);
            file.close();
            return life() == Life::damaged || life() == Life::ended;
        },
        10'000);
    EXPECT_TRUE(said) << state();
    EXPECT_GT(points("session/bandwidth"), 20u);
    EXPECT_GT(colours_in(window_.grab().toImage()), 50);
}

TEST_F(Live, ASuspendedSessionIsSaidToBeSuspended) {
    start();
    ::kill(static_cast<pid_t>(run_.processId()), SIGSTOP);
    StartPage page;
    const auto listed = [&] {
        page.refresh_sessions();
        for (int row = 0; row < page.sessions().count(); ++row)
            if (page.sessions().item(row)->text().startsWith(QString::number(run_.processId())))
                return page.sessions().item(row)->text();
        return QString();
    };
    EXPECT_TRUE(QTest::qWaitFor([&] { return listed().contains("suspended, since"); }, kLongMs));
    ::kill(static_cast<pid_t>(run_.processId()), SIGCONT);
    EXPECT_TRUE(QTest::qWaitFor([&] { return listed().contains("running, since"); }, kLongMs));
}

TEST(StartPage, AProgramIsStartedAndItsSessionOpens) {
    MainWindow window(ThemeName::light);
    window.show();
    RunRequest request;
    request.program = bin("egpu-workload");
    request.arguments = "loop --elements 1024 --seconds 3";
    request.probes = "bandwidth";
    request.simulated = true;
    window.start_page().form().set_request(request);
    auto* start = window.start_page().form().findChild<QPushButton*>("start");
    ASSERT_NE(start, nullptr);
    ASSERT_TRUE(start->isEnabled());
    start->click();
    EXPECT_TRUE(QTest::qWaitFor([&] { return window.model().life() == Life::live; }, kLongMs));
    EXPECT_TRUE(QTest::qWaitFor([&] { return window.model().life() == Life::ended; }, kLongMs));
    const auto said = [&](const char* text) {
        for (int row = 0; row < window.model().messages().rowCount(); ++row)
            if (window.model().messages().message(row).text.contains(QString::fromLatin1(text)))
                return true;
        return false;
    };
    EXPECT_TRUE(QTest::qWaitFor([&] { return said("exit code 0"); }, kLongMs));
    EXPECT_TRUE(said("running: egpu run --simulated -p bandwidth --"));
    EXPECT_TRUE(said("result ok"));  // the program's own output
}

TEST(StartPage, AProbeThatIsNoneIsSaid) {
    MainWindow window(ThemeName::light);
    RunRequest request;
    request.program = "/bin/true";
    request.probes = "no-such-probe";
    window.start_page().form().set_request(request);
    window.start_page().form().findChild<QPushButton*>("start")->click();
    EXPECT_TRUE(QTest::qWaitFor(
        [&] {
            for (int row = 0; row < window.model().messages().rowCount(); ++row)
                if (window.model().messages().message(row).text.contains("no-such-probe") &&
                    window.model().messages().message(row).severity == Severity::error)
                    return true;
            return false;
        },
        kLongMs));
}

}  // namespace
}  // namespace egpu::ui
